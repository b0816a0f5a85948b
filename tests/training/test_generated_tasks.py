"""Every generated task trains with the template that fits its fields, and is tested at the lengths of its own."""

import math

import pytest

from composer.config.composition import compose
from composer.core import registry
from composer.core.problems import UserError
from composer.data import load_source
from composer.data.generated_source import GeneratedSource
from composer.inference.model import Model
from composer.training.run import train as job
from composer.training.run.plan import prepare

SOURCES = {name: entry for name, entry in registry.entries("data").items() if isinstance(entry, type)}
TASKS = [name for name, cls in SOURCES.items() if issubclass(cls, GeneratedSource)]
#: Tasks with other forms, besides the default.
FORMS = [
    *[(name, []) for name in TASKS],
    *[(name, ["data.aligned=true"]) for name in ("parity", "modular_arithmetic", "reverse", "stack_manipulation")],
    ("group_words", ["data.aligned=false", "data.group=A4xZ5"]),
    ("associative_recall", ["data.length=64", "data.queries=null", "data.distinct=true"]),
    ("noisy_recall", []),
]
#: Tasks in which the answer stands in a later step of the source.
FORETOLD = ["in_context_recall", "noisy_recall", "fuzzy_recall"]
SMALL = [
    "data.train_size=32", "data.valid_size=8", "mixer=gru", "model.dim=8", "training.steps=2", "training.batch=4",
    "training.validate_every=2", "training.log_every=2", "training.checkpoint_every=2", "schedule=constant",
    "logger=none", "training.figures=false", "training.samples=0",
]  # fmt: skip


def template(fields):
    """The template that reads and predicts such fields."""
    if "picture" in fields:
        return "captioner"
    if "places" in fields:
        return "autoencoder"
    target = fields["target"]
    if not target.timed:
        return "seq2vec"
    return "tagger" if target.axis == "source" else "seq2seq"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "more"), FORMS)
def test_a_generated_task_trains_with_the_template_of_its_fields(name, more, tmp_path):
    section = compose([f"data={name}", *more]).values["data"]
    model = template(load_source(section).fields)
    if name in FORETOLD:
        more = [*more, "model.nodes.encoder.causal=true"]
    run = [f"data={name}", f"model={model}", *more, *SMALL, f"runs={tmp_path}", "name=run"]
    outcome = job.train(compose(run), quiet=True)
    assert outcome.status == "finished"
    assert outcome.values
    assert all(math.isfinite(value) for value in outcome.values.values())


@pytest.mark.parametrize("name", FORETOLD)
def test_a_model_that_could_read_the_answer_in_a_later_step_of_the_source_is_refused(name):
    source = load_source(compose([f"data={name}"]).values["data"])
    read, wanted = source.fields["source"].contents.tokens, source.fields["target"].contents.tokens
    batch = source.batch("train", range(20))
    rows = zip(batch["source"].values.tolist(), batch["target"].values.tolist(), batch["source"].counts, strict=True)
    told = [
        (read[given[step + 1]], wanted[answers[step]])
        for given, answers, count in rows
        for step in range(count - 1)
        if answers[step] != source.fields["target"].blank
    ]
    assert told, "an answer before the last step"
    assert all(later == answer for later, answer in told), "it is the next token of the source"
    prepare(compose([f"data={name}", "model=tagger", "model.nodes.encoder.causal=true"]))
    with pytest.raises(UserError, match=r"later steps of 'source' hold what 'target' asks for\. Set causal"):
        prepare(compose([f"data={name}", "model=tagger"]))


@pytest.mark.parametrize("split", ["valid", "test"])
def test_a_table_of_positions_that_is_too_short_for_any_split_is_refused_before_training(split):
    long = ["data=parity", "model=seq2vec", "mixer=attention", "position=learned", "position.limit=40"]
    prepare(compose([*long, "data.valid_size=50"]))
    with pytest.raises(
        UserError, match=rf"'source' of example \d+ of the split '{split}' has \d+ steps.*positions for 40"
    ):
        prepare(compose([*long, "data.valid_size=50", f"data.{split}_length=[60,90]"]))


@pytest.mark.slow
def test_the_test_split_of_a_run_is_evaluated_at_its_lengths_and_at_others(tmp_path):
    short = ["data=reverse", "data.length=4", "data.test_length=[5,9]", *SMALL, f"runs={tmp_path}", "name=run"]
    job.train(compose(short), quiet=True)
    model = Model.load(tmp_path / "run")
    for change, least, most in (([], 5, 9), (["data.test_length=[12,14]"], 12, 14)):
        data = model.data(*change, labelled=True)
        assert data.split == "test"
        found = data.objective.lengths("test", range(8))["source"].tolist()
        assert all(least <= count <= most for count in found)
