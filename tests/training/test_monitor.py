"""``training.monitor``, the metric of the best checkpoint, early stopping and sweeps; the test split at the end."""

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core.problems import ConfigError, Invalid
from composer.inference.model import Model
from composer.metrics import Evaluation, Evaluator
from composer.runs import checkpoint
from composer.runs.checkpoint_content import RunProgress
from composer.studies.comparison import compare
from composer.training.run import final_test as final
from composer.training.run import train as job
from composer.training.run.plan import find_monitor, prepare
from composer.training.settings import Training
from tests.support.runs import write_run

SMALL = [
    "data=copy", "data.train_size=40", "data.valid_size=8", "data.length=4", "model.dim=8", "mixer=gru",
    "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1", "training.batch=4", "training.validate_every=2",
    "training.log_every=2", "training.checkpoint_every=2", "schedule=constant", "logger=none", "training.figures=false",
]  # fmt: skip


def begin(tmp_path, steps, *more, name="run"):
    return [*SMALL, f"training.steps={steps}", f"runs={tmp_path}", f"name={name}", *more]


@pytest.fixture
def train(monkeypatch):
    """Trains with these values of ``exact``, and losses that rise; returns the outcome and run.json."""

    def run(values, *overrides):
        left = iter(enumerate(values))

        def result(*_):
            number, value = next(left)
            return Evaluation({"loss": 1.0 + number, "exact": value, "wer": value})

        monkeypatch.setattr(Evaluator, "result", result)
        outcome = job.train(compose(list(overrides)))
        assert next(left, None) is None, "training ended too early"
        return outcome, json.loads((outcome.folder.path / "run.json").read_text())

    return run


@pytest.mark.slow
@pytest.mark.parametrize(("monitor", "best"), [("loss", 2), ("exact", 6), ("wer", 4)])
def test_the_best_checkpoint_is_that_of_the_monitor_in_its_direction(train, tmp_path, monitor, best):
    outcome, facts = train(
        [0.3, 0.1, 0.5, 0.4], *begin(tmp_path, 8, f"training.monitor={monitor}", "training.test=false")
    )
    assert facts["result_step"] == best
    assert checkpoint.load(outcome.folder.best)["step"] == best
    assert facts["monitor"] == monitor
    assert "test" not in facts
    assert compare([outcome.folder.path]).judged == f"valid/{monitor}"


@pytest.mark.slow
def test_patience_counts_validations_without_a_better_monitor(train, tmp_path):
    chosen = ["training.monitor=exact", "training.patience=2", "training.test=false"]
    _, facts = train([0.1, 0.2, float("nan"), 0.2], *begin(tmp_path, 20, *chosen))
    assert (facts["result_step"], facts["last_step"]) == (4, 8)
    with pytest.raises(Exception, match="2 validations without a better exact"):
        job.train(compose([f"resume={tmp_path}/run"]))
    with pytest.raises(ConfigError, match="was chosen by 'exact'"):
        job.train(compose([f"resume={tmp_path}/run", "training.patience=9", "training.monitor=loss"]))


@pytest.mark.slow
def test_a_value_that_is_nan_is_worse_than_any_number(train, tmp_path):
    chosen = ["training.monitor=exact", "training.test=false"]
    _, facts = train([float("nan"), 0.0, float("nan")], *begin(tmp_path, 6, *chosen))
    assert facts["result_step"] == 4


@pytest.mark.parametrize(
    ("monitor", "more", "said"),
    [
        ("exct", [], "this model has no metric 'exct'. Did you mean 'exact'?"),
        ("bleu", [], "no metric 'bleu'"),  # symbols are no text
        ("exact", ["training.decode_rows=0"], "decode_rows=0 decodes none"),
    ],
)
def test_a_monitor_that_is_not_measured_is_a_problem_before_training(tmp_path, monitor, more, said):
    with pytest.raises(ConfigError) as error:
        prepare(compose(begin(tmp_path, 2, f"training.monitor={monitor}", *more)))
    assert said in " ".join(str(error.value).split())
    assert "training.monitor" in str(error.value)
    assert not (tmp_path / "run").exists()


def test_the_earlier_name_of_the_key_is_read(tmp_path):
    assert monitor_of([*LABELS, "training.judge=loss"]) == "loss"
    (tmp_path / "experiment").mkdir()
    old = "# @package _global_\ntraining: {judge: macro_f1}\n"
    (tmp_path / "experiment" / "old.yaml").write_text(old)
    composed = compose([*LABELS, "experiment=old"], tmp_path)
    assert prepare(composed).training.monitor == "macro_f1"


LABELS = ["data=parity", "model=seq2vec", "data.length=6", "model.dim=8", "mixer=gru"]


def monitor_of(overrides, saved=None):
    composed = compose(overrides)
    asked = {key: composed.values["training"][key] for key in ("monitor", "decode_rows")}
    return find_monitor(*compile_config(composed), Training(**asked), saved)


@pytest.mark.parametrize(
    ("overrides", "monitor"),
    [
        (LABELS, "accuracy"),
        ([*LABELS, "training.monitor=loss"], "loss"),
        (["experiment=forecast_by_steps"], "mse"),
        (["experiment=forecast_by_steps", "training.decode_rows=0"], "loss"),  # mse is of decoded forecasts
        (["experiment=intents"], "loss"),  # of two heads
    ],
)
def test_a_run_is_monitored_by_the_metric_of_its_head_unless_told_otherwise(overrides, monitor):
    assert monitor_of(overrides) == monitor


@pytest.mark.parametrize(
    ("progress", "config", "monitor"),
    [
        ({}, {}, "loss"),  # before there was a choice
        ({}, {"judge": "loss"}, "loss"),  # before heads had metrics that judge
        ({}, {"judge": "macro_f1"}, "macro_f1"),
        ({"monitor": "macro_f1"}, {"judge": None}, "macro_f1"),  # the head of a later version may have another one
        ({"monitor": "macro_f1"}, {"monitor": "loss"}, "macro_f1"),
    ],
)
def test_a_resumed_run_keeps_its_monitor(progress, config, monitor):
    saved = {"progress": progress, "config": {"training": config}}
    assert monitor_of(LABELS, saved) == monitor_of([*LABELS, f"training.monitor={monitor}"], saved) == monitor
    with pytest.raises(Invalid, match=f"was chosen by '{monitor}'"):
        monitor_of([*LABELS, "training.monitor=top5_accuracy"], saved)


@given(st.sampled_from(["min", "max"]), st.data())
def test_the_best_validation_has_the_best_value_and_of_these_the_lowest_loss(direction, data):
    values = st.sampled_from([0.25, 0.5, 1.0, math.nan])
    seen = data.draw(st.lists(st.tuples(values, st.sampled_from([0.1, 0.2, 0.3])), min_size=1, max_size=8))
    progress, stale = RunProgress(), []
    for step, (value, loss) in enumerate(seen):
        progress.step = step
        stale.append(not progress.improved(value, loss, direction))
    sign = {"min": 1, "max": -1}[direction]
    costs = [(math.inf if math.isnan(value) else sign * value, loss) for value, loss in seen]
    best = costs.index(min(costs))
    assert progress.best_step == best
    assert progress.stale == len(seen) - 1 - best == sum(stale[best:])


def test_an_older_run_without_the_loss_of_its_best_validation_keeps_that():
    progress = RunProgress(step=4, best=1.0, best_step=2)
    assert not progress.improved(1.0, 0.1, "max")
    assert progress.improved(1.5, 0.1, "max")


@pytest.mark.slow
def test_the_screen_says_what_chose_the_best_checkpoint(tmp_path, capsys):
    few = ["training.steps=2", "training.batch=4", "training.figures=false", f"runs={tmp_path}", "name=run"]
    job.train(compose([*LABELS, *few, "data.train_size=40", "data.valid_size=8"]))
    shown = capsys.readouterr().out
    assert "monitor   accuracy of the validation split chooses the best checkpoint" in shown
    assert re.search(r"best at step 2 by accuracy +validation +test  95 % interval\n-+\nloss ", shown)
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (
        facts["monitor"]
        == checkpoint.load(tmp_path / "run/checkpoints/best.safetensors")["progress"]["monitor"]
        == "accuracy"
    )


def test_a_monitor_needs_validation_rows(tmp_path):
    (tmp_path / "pairs.tsv").write_text("a\tb\n" * 20)
    pairs = ["data=pairs", f"data.path={tmp_path}/pairs.tsv", "data.valid=0", "model.dim=8", "mixer=gru"]
    assert prepare(compose(pairs)).training.monitor == "loss"
    (tmp_path / "labels.tsv").write_text("a\tx\nb\ty\n" * 20)
    labelled = ["data=labelled", f"data.path={tmp_path}/labels.tsv", "data.valid=0", "model=seq2vec", "model.dim=8"]
    assert prepare(compose([*labelled, "mixer=gru"])).training.monitor == "loss"
    with pytest.raises(ConfigError, match="no validation split"):
        prepare(compose([*pairs, "training.monitor=exact"]))


def test_runs_that_chose_by_different_metrics_are_compared_by_the_loss(tmp_path):
    one, other = write_run(tmp_path / "a", monitor="accuracy"), write_run(tmp_path / "b", judge="loss")  # an older run
    assert compare([one]).judged == "valid/accuracy"
    assert compare([one, other]).judged == "valid/loss"


@pytest.mark.slow
def test_a_run_ends_with_its_test_split_once_even_if_it_is_killed_there(tmp_path, monkeypatch, capsys):
    evaluations = []

    def watched(*arguments, **options):
        evaluations.append(options)
        if len(evaluations) == 1:
            raise KeyboardInterrupt  # during the evaluation
        return real(*arguments, **options)

    real = final.evaluate
    monkeypatch.setattr(final, "evaluate", watched)
    with pytest.raises(KeyboardInterrupt):
        job.train(compose(begin(tmp_path, 4)))
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert facts["status"] == "stopped"
    assert "test" not in facts
    outcome = job.train(compose([f"resume={tmp_path}/run"]))
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (facts["status"], len(evaluations)) == ("finished", 2)
    assert re.search(r"validation +test  95 % interval\n-+\nloss ", capsys.readouterr().out)
    # the figures are those of ``evaluate`` on the best checkpoint
    found = Model.load(outcome.folder.path).evaluate().report()
    assert facts["test"] == found
    assert facts["test_step"] == facts["result_step"]
    assert facts["test"]["exact"]["low"] <= facts["test"]["exact"]["value"] <= facts["test"]["exact"]["high"]
    # a run that was killed after that has its result already
    outcome.folder.update_record(status="running")
    job.train(compose([f"resume={tmp_path}/run"]))
    assert len(evaluations) == 2
    assert json.loads((tmp_path / "run" / "run.json").read_text())["test"] == facts["test"]


@pytest.mark.slow
def test_a_trial_that_only_tunes_does_not_see_the_test_split(tmp_path):
    outcome = job.train(compose(begin(tmp_path, 2)))
    assert outcome.folder.read_record().test
    trial = job.RunFolder(tmp_path / "trial")
    trial.make()
    trial.update_record(trial={"number": 0, "phase": "tuning", "parameters": {}}, identifier="0", group=None)
    job.train(compose(begin(tmp_path, 2, name="trial")), folder=trial)
    assert not trial.read_record().test


@pytest.mark.slow
def test_a_pruned_run_ends_after_the_validation_that_a_search_prunes_it_by(tmp_path):
    seen = {}

    def prune(step, values):
        seen[step] = values["loss"]
        return step == 4

    outcome = job.train(compose(begin(tmp_path, 8, "training.ema=0.5")), prune=prune)
    assert (outcome.status, outcome.exit_code) == ("pruned", 0)
    assert list(seen) == [2, 4]
    saved = checkpoint.load(outcome.folder.last)
    assert (saved["step"], saved["progress"]["pruned"], saved["progress"]["validated"]) == (4, True, 4)
    with pytest.raises(Exception, match="a search ended this run early"):
        job.train(compose([f"resume={tmp_path}/run"]))
