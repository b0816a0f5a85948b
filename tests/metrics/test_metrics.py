"""Metrics: against torchmetrics, against loops, and the laws of sums."""

import math
import random
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
import torchmetrics.functional as reference
import torchmetrics.functional.text as reference_text
from hypothesis import given, settings
from hypothesis import strategies as st

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core import registry
from composer.core.block import Signature
from composer.core.problems import GraphError, Invalid, UserError
from composer.core.signals import Field, Ids, Image, Label, Seq, Timed, Vec
from composer.graph.compiler import compile_graph
from composer.graph.graph import Graph
from composer.metrics import (
    JUDGE,
    MEANINGS,
    Seen,
    describe,
    direction,
    evaluate,
    headline,
    metrics_for,
    numbers,
    scores_for,
    steps,
    texts,
)
from composer.objectives import Batch, Objective

SMALL = ["model.dim=8", "mixer=gru"]

#: Small graphs of every family, and the metrics that fit them.
FAMILIES = {
    "generated tokens": (
        ["data=copy", "data.symbols=5", "data.length=4"],
        "loss perplexity token_accuracy exact wer",
    ),
    "generated text": (
        ["data=dates", "data.locales=[en]", "data.train_size=50", "data.valid_size=50"],
        "loss perplexity bits_per_character token_accuracy exact bleu chrf cer wer",
    ),
    "language model": (
        ["data=copy", "model=language_model", "data.symbols=5", "data.length=4"],
        "loss perplexity token_accuracy",
    ),
    "tags": (["data=associative_recall", "model=tagger"], "loss accuracy f1 exact"),
    "label": (["data=parity", "model=seq2vec", "data.length=6"], "loss accuracy f1"),
    "alignment": (
        ["data=selective_copying", "data.aligned=false", "data.length=12", "data.copied=3", "model=tagger", "head=ctc"],
        "loss exact wer",
    ),
    "forecast": (
        ["data=sine", "head=gaussian", "embedding=continuous", "data.length=6", "data.horizon=4"],
        "loss mse mae mse_over_naive mae_over_naive",
    ),
    "numbers": (
        ["data=adding", "model=seq2vec", "head=gaussian", "embedding=continuous"],
        "loss mse mae mse_over_naive",
    ),
    "there or not": (
        ["data=adding", "model=seq2vec", "head=bernoulli", "embedding=continuous"],
        "loss accuracy f1",
    ),
}
FAMILIES |= {
    "masked text": (
        ["data=python_docs", "data.length=24", "model=tagger", "objective=masked_token"],
        "loss perplexity token_accuracy",
    ),
    "damaged text": (
        ["data=python_docs", "data.length=24", "model=seq2seq", "objective=denoising"],
        "loss perplexity bits_per_character token_accuracy exact bleu chrf cer wer",
    ),
    "next token": (
        ["data=python_docs", "data.length=24", "model=language_model", "objective=next_token"],
        "loss perplexity bits_per_character token_accuracy",
    ),
}
_built = {}


def family(name):
    if name not in _built:
        graph, objective = compile_config(compose([*FAMILIES[name][0], *SMALL]))
        _built[name] = graph.materialise(), objective
    return _built[name]


def close(found, wanted, tolerance=1e-9):
    assert list(found) == list(wanted)
    for name in found:
        assert found[name] == pytest.approx(wanted[name], rel=tolerance, abs=tolerance, nan_ok=True), name


# Which metrics fit


@pytest.mark.parametrize("name", FAMILIES)
def test_a_head_gets_the_metrics_that_fit_it(name):
    graph, objective = family(name)
    wanted = FAMILIES[name][1].split()
    assert [metric.name for metric in metrics_for(graph)["output"]] == wanted
    found = evaluate(graph, objective, [objective.batch("valid", range(7))])
    assert list(found.values) == wanted
    assert all(math.isfinite(value) for key, value in found.values.items() if key != "bleu")
    assert headline(found.values) in found.values
    assert wanted[0] == JUDGE


TARGETS = {
    "ids": Field("ids", vocabulary=7, start=0, stop=1, tokens=tuple("^$abcde")),
    "seq": Field("seq", dim=3),
    "vec": Field("vec", dim=3),
    "label": Field("label", vocabulary=4),
}
SOURCE = Field("ids", vocabulary=7, tokens=tuple("^$abcde"))


def nodes_for(head, kind):
    """What a head of this kind needs before it: a step or a vector a row, and whatever else it reads."""
    found = {
        "embedded": {"kind": "embedding", "type": "token", "dim": 4, "from": "source"},
        "mixed": {"kind": "mixer", "type": "gru", "from": "embedded"},
    }
    ports = {"x": "mixed"} | {
        port: {"memory": "embedded", "ids": "source"}[port]
        for port in ("memory", "ids")
        if port in registry.blocks("head")[head].forward.__annotations__
    }
    if kind in ("vec", "label"):
        found["pool"] = {"kind": "pool", "type": "mean", "from": "mixed"}
        ports["x"] = "pool"
    return found | {"output": {"kind": "head", "type": head, "from": ports, "predicts": "target"}}


@pytest.mark.parametrize("head", registry.blocks("head"))
def test_every_head_has_metrics_for_every_target_it_can_predict(head):
    """On whatever it compiles with: the loss first, all of them named in the table, none of them nan."""
    works = 0
    block = registry.blocks("head")[head]
    for kind, field in TARGETS.items():
        aligned = getattr(block, "aligned", True)
        steps = 8 if "target_steps" in Signature.of(block).facts else None  # at least as many as a row has
        own = replace(field, axis="source" if field.timed and aligned else None, steps=steps)
        fields = {"source": SOURCE, "target": own}
        try:
            graph = compile_graph(nodes_for(head, kind), fields).materialise()
        except GraphError:
            continue  # not a target of this head
        works += 1
        found = evaluate(graph, Drawn(fields), [Drawn(fields).batch("valid", range(6))])
        assert next(iter(found.values)) == "loss"
        assert set(found.values) <= set(MEANINGS)
        assert all(math.isfinite(value) for value in found.values.values()), (kind, found.values)
        assert ("mse" in found.values) == (kind in ("seq", "vec") and not getattr(block, "binary", False))
        assert ("wer" in found.values) == (kind == "ids" and not aligned)
    assert works


class Drawn(Objective):
    """Random examples of any fields, ragged; a row is the same in every batch."""

    def __init__(self, fields, rows=24):
        self._fields = fields
        generator = torch.Generator().manual_seed(3)
        lengths = {name: torch.randint(2, 9, (rows,), generator=generator) for name in fields}
        self.signals = {}
        for name, field in fields.items():
            own = lengths[field.axis or name] + (2 if field.axis is None and name == "source" else 0)
            if field.axis == "source":
                own = own + 2
            shape = field.example(rows, int(own.max())).values.shape
            if field.vocabulary is not None:
                values = torch.randint(field.vocabulary, shape, generator=generator)
            else:
                values = torch.randn(shape, generator=generator)
            signal = field.example(rows, 1)
            self.signals[name] = type(signal)(values, own) if isinstance(signal, Timed) else type(signal)(values)

    @property
    def fields(self):
        return self._fields

    def batch(self, split, rows, epoch=0):
        rows = list(rows)
        return Batch({name: taken(signal, rows) for name, signal in self.signals.items()})

    def show(self, field, signal):
        tokens = self.fields[field].tokens
        if isinstance(signal, Ids):
            rows = [row[:n] for row, n in zip(signal.values.tolist(), signal.counts.tolist(), strict=True)]
            return ["".join(tokens[i] for i in row).partition("$")[0] for row in rows]
        return [str(row) for row in signal.values.tolist()]


def taken(signal, rows):
    """Rows of a signal, no wider than the longest of them."""
    if not isinstance(signal, Timed):
        return type(signal)(signal.values[rows])
    lengths = signal.counts[rows]
    return type(signal)(signal.values[rows][:, : int(lengths.max())], lengths)


TOKENS = {"kind": "embedding", "type": "token", "dim": 4}


def test_several_heads_prefix_their_names_and_their_losses_add_up():
    fields = {"source": SOURCE, "target": TARGETS["label"], "other": TARGETS["vec"]}
    pool = {"kind": "pool", "type": "mean", "from": "embedded"}
    graph = compile_graph(
        {
            "embedded": {**TOKENS, "from": "source"},
            "pool": pool,
            "first": {"kind": "head", "type": "categorical", "from": "pool", "predicts": "target"},
            "second": {"kind": "head", "type": "gaussian", "from": "pool", "predicts": "other"},
        },
        fields,
    ).materialise()
    objective = Drawn(fields)
    found = evaluate(graph, objective, [objective.batch("valid", range(5))], keep=True, samples=2)
    values = found.values
    assert list(values) == [
        "loss", "first/loss", "first/accuracy", "first/f1",
        "second/loss", "second/mse", "second/mae", "second/mse_over_naive",
    ]  # fmt: skip
    assert values["loss"] == pytest.approx(values["first/loss"] + values["second/loss"])
    assert found.interval("loss")[0] < values["loss"] < found.interval("loss")[1]
    assert [sample["head"] for sample in found.samples] == ["first", "first", "second", "second"]
    assert headline(values) == "first/accuracy"


def test_masked_tokens_of_a_text_are_no_tags():
    target = Field("ids", vocabulary=7, tokens=tuple("^$abcde"), text=True, axis="source")
    graph = compile_graph(nodes_for("categorical", "ids"), {"source": SOURCE, "target": target})
    assert list(scores_for(graph)) == ["loss", "perplexity", "token_accuracy"]


def test_a_language_model_of_both_directions_has_the_metrics_of_each():
    overrides = ["data=python_docs", "data.length=24", "model=bidirectional_lm", "objective=bidirectional_lm", *SMALL]
    graph, objective = compile_config(compose(overrides))
    found = evaluate(graph.materialise(), objective, [objective.batch("valid", range(3))]).values
    heads = [head.name for head in graph.heads]
    each = ["loss", "perplexity", "bits_per_character", "token_accuracy"]
    assert list(found) == ["loss", *(f"{head}/{name}" for head in heads for name in each)]
    assert len(heads) == 2
    assert all(math.isfinite(value) for value in found.values())


def test_every_name_is_described_and_has_a_direction():
    assert {direction(name) for name in MEANINGS} == {"min", "max"}
    assert describe("output/bleu") == MEANINGS["bleu"].text
    with pytest.raises(UserError, match="Did you mean 'bleu'"):
        direction("blue")


# Values, against torchmetrics


def seen(target, found, weight=None, losses=None, field=None, given=(), show=None):
    timed = isinstance(target, Timed)
    shape = target.values.shape[: 2 if timed else 1]
    if weight is None:
        weight = torch.ones(shape) if not timed or target.mask is None else target.mask
    losses = torch.zeros(shape) if losses is None else losses
    return Seen(field, losses.double(), weight.double(), target, found, dict(given), show)


def value(metric, *views):
    return float(metric.value(sum(metric.rows(view).sum(0) for view in views)))


def of_texts(metric, wanted, found):
    both = [*wanted, *found]
    places = torch.arange(len(wanted))
    return value(metric, seen(Label(places), Label(places + len(wanted)), show=lambda s: [both[i] for i in s.values]))


WORDS = ["the", "cat", "sat", "on", "", "mat", "naïve", "日本", "é", "🙂", "a", "b"]


def corrupted(rng, text):
    """A text with some of its words and characters changed, but not all."""
    words = [word if rng.random() < 0.7 else rng.choice(WORDS) for word in text.split(" ")]
    return "".join(c for c in " ".join(words) if rng.random() < 0.9)


def corpus(seed):
    """Pairs of every length, some of them empty on either side, some wholly right."""
    rng = random.Random(seed)
    wanted = [" ".join(rng.choice(WORDS) for _ in range(rng.randint(1, 12))) for _ in range(20)]
    found = [text if rng.random() < 0.2 else corrupted(rng, text) for text in wanted]
    return [*wanted, "", "one two three four five", ""], [*found, "", "", "cat"]


@pytest.mark.parametrize("seed", range(4))
def test_text_metrics_equal_torchmetrics(seed):
    wanted, found = corpus(seed)
    assert of_texts(texts.CER, wanted, found) == pytest.approx(
        float(reference_text.char_error_rate(found, wanted)), rel=1e-6
    )
    assert of_texts(texts.WER, wanted, found) == pytest.approx(
        float(reference_text.word_error_rate(found, wanted)), rel=1e-6
    )
    bleu = float(reference_text.bleu_score(found, [[text] for text in wanted]))
    assert bleu > 0
    assert of_texts(texts.BLEU, wanted, found) == pytest.approx(bleu, rel=1e-5)
    # torchmetrics forgets what was wanted where nothing of it was found: compare the others
    some = [(a, b) for a, b in zip(wanted, found, strict=True) if set(a) & set(b) - {" "}]
    wanted, found = [a for a, _ in some], [b for _, b in some]
    chrf = float(reference_text.chrf_score(found, [[text] for text in wanted], n_word_order=0))
    assert of_texts(texts.CHRF, wanted, found) == pytest.approx(chrf, rel=1e-5)


def test_bleu_punishes_what_is_short_and_not_what_is_long():
    wanted, found = corpus(0)
    for found in ([text + " and more" for text in wanted], [text.rpartition(" ")[0] for text in wanted]):
        bleu = float(reference_text.bleu_score(found, [[text] for text in wanted]))
        assert of_texts(texts.BLEU, wanted, found) == pytest.approx(bleu, rel=1e-5)


@given(st.text("ab ", max_size=9), st.text("abc ", max_size=9))
@settings(max_examples=200)
def test_the_edit_distance_is_that_of_the_recursion(a, b):
    table = list(range(len(b) + 1))
    for i, x in enumerate(a):
        row = [i + 1]
        for j, y in enumerate(b):
            row.append(min(table[j] + (x != y), table[j + 1] + 1, row[j] + 1))
        table = row
    assert texts.edit_distance(a, b) == table[-1] == texts.edit_distance(list(b), list(a))


def test_a_long_text_has_the_edit_distance_of_its_changes():
    rng = random.Random(0)
    text = [rng.randrange(1000) for _ in range(300)]
    changed = [-1 if i % 50 == 0 else x for i, x in enumerate(text) if i % 70 != 69]
    assert texts.edit_distance(text, changed) == 6 + 4


def test_short_texts_can_be_wholly_right():
    assert of_texts(texts.CHRF, ["ab"], ["ab"]) == 1
    assert of_texts(texts.CHRF, ["ab"], ["cd"]) == 0
    assert math.isnan(of_texts(texts.BLEU, ["a b c"], ["a b c"])), "no text has four words: BLEU cannot tell"
    assert of_texts(texts.BLEU, ["a b c d"], ["a b c"]) == 0
    assert of_texts(texts.EXACT, ["a", "", "c"], ["a", "", "d"]) == pytest.approx(2 / 3)


def ragged(seed, rows=9, time=7, weights=True):
    """Lengths and weights, some of them 0 within a row, of ragged rows."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, time + 1, (rows,), generator=generator)
    real = torch.arange(time) < lengths[:, None]
    weight = real * (torch.rand(rows, time, generator=generator) < 0.7) if weights else real
    return generator, lengths, weight


@pytest.mark.parametrize("seed", range(3))
def test_classification_metrics_equal_torchmetrics(seed):
    generator, lengths, weight = ragged(seed)
    classes = 5
    wanted, found = (torch.randint(classes - 1, weight.shape, generator=generator) for _ in range(2))
    tags = seen(Ids(wanted, lengths), Ids(found, lengths), weight)
    kept = found[weight], wanted[weight]
    options = {"task": "multiclass", "num_classes": classes}  # the last class never occurs
    macro = float(reference.f1_score(*kept, average="macro", **options))
    assert value(steps.macro_f1(classes), tags) == pytest.approx(macro)
    micro = float(reference.accuracy(*kept, average="micro", **options))
    assert value(steps.ACCURACY, tags) == value(steps.TOKEN_ACCURACY, tags) == pytest.approx(micro)
    rows = seen(Label(wanted[:, 0]), Label(found[:, 0]))
    macro = float(reference.f1_score(found[:, 0], wanted[:, 0], average="macro", **options))
    assert value(steps.macro_f1(classes), rows) == pytest.approx(macro)
    hits = [bool((found[i] == wanted[i])[weight[i]].all()) for i in range(len(weight)) if weight[i].any()]
    assert value(steps.EXACT, tags) == pytest.approx(sum(hits) / len(hits))


@pytest.mark.parametrize("seed", range(3))
def test_the_perplexity_equals_that_of_torchmetrics(seed):
    generator, lengths, weight = ragged(seed)
    logits = torch.randn(*weight.shape, 6, generator=generator, dtype=torch.float64)
    wanted = torch.randint(6, weight.shape, generator=generator)
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="none")
    view = seen(Ids(wanted, lengths), Ids(logits.argmax(-1), lengths), weight, losses.view_as(wanted))
    ignored = wanted.masked_fill(~weight, -100)
    assert value(steps.PERPLEXITY, view) == pytest.approx(
        float(reference_text.perplexity(logits, ignored, ignore_index=-100)), rel=1e-6
    )
    losses = losses.view_as(wanted)
    assert value(steps.LOSS, view) == pytest.approx(float(losses[weight].mean()))
    unknown = losses.masked_fill(~weight, math.nan)  # what does not count may be anything
    assert value(steps.LOSS, replace(view, losses=unknown)) == value(steps.LOSS, view)


@pytest.mark.parametrize("seed", range(3))
def test_number_metrics_equal_torchmetrics(seed):
    generator, lengths, weight = ragged(seed)
    wanted, found = (torch.randn(*weight.shape, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    before = torch.randn(len(weight), 4, 3, generator=generator, dtype=torch.float64)
    given_lengths = torch.randint(1, 5, (len(weight),), generator=generator)
    view = seen(Seq(wanted, lengths), Seq(found, lengths), weight, given={"past": Seq(before, given_lengths)})
    mse, mae = reference.mean_squared_error, reference.mean_absolute_error
    assert value(numbers.MSE, view) == pytest.approx(float(mse(found[weight], wanted[weight])))
    assert value(numbers.MAE, view) == pytest.approx(float(mae(found[weight], wanted[weight])))
    last = torch.stack([row[n - 1] for row, n in zip(before, given_lengths, strict=True)])
    naive = last[:, None].expand_as(wanted)
    squared, absolute = numbers.over_last("past")
    ratio = mse(found[weight], wanted[weight]) / mse(naive[weight], wanted[weight])
    assert value(squared, view) == pytest.approx(float(ratio))
    ratio = mae(found[weight], wanted[weight]) / mae(naive[weight], wanted[weight])
    assert value(absolute, view) == pytest.approx(float(ratio))
    mean = wanted[weight].mean(0).expand_as(wanted[weight]).contiguous()
    ratio = mse(found[weight], wanted[weight]) / mse(mean, wanted[weight])
    assert value(numbers.over_mean(3), view) == pytest.approx(float(ratio))
    found, wanted = found[:, 0].contiguous(), wanted[:, 0].contiguous()
    rows = seen(Vec(wanted), Vec(found))
    assert value(numbers.MSE, rows) == pytest.approx(float(mse(found, wanted)))
    r2 = reference.r2_score(found, wanted, multioutput="variance_weighted")
    assert value(numbers.over_mean(3), rows) == pytest.approx(1 - float(r2))


@pytest.mark.parametrize("seed", range(3))
def test_metrics_of_labels_there_or_not_equal_torchmetrics(seed):
    generator, lengths, weight = ragged(seed)
    wanted, found = (torch.randint(2, (*weight.shape, 3), generator=generator) for _ in range(2))
    view = seen(Seq(wanted.float(), lengths), Seq(found.float(), lengths), weight)
    kept = found[weight], wanted[weight]
    assert value(steps.BINARY_F1, view) == pytest.approx(float(reference.f1_score(*kept, task="binary")))
    assert value(steps.BINARY_ACCURACY, view) == pytest.approx(float(reference.accuracy(*kept, task="binary")))


def test_bits_are_counted_a_character_of_the_text_and_not_a_token():
    tokens = ("<sos>", "<eos>", "<unk>", "ab", "c", "déf")
    field = Field("ids", vocabulary=6, tokens=tokens, start=0, stop=1, special=(0, 1, 2), text=True)

    def show(signal):
        rows = zip(signal.values.tolist(), signal.counts.tolist(), strict=True)
        return ["".join(tokens[i] for i in row[:n]) for row, n in rows]

    target = Ids(torch.tensor([[3, 5, 1], [4, 2, 1], [4, 1, -7]]), torch.tensor([3, 3, 2]))
    losses = torch.full((3, 3), math.log(2))
    view = seen(target, target, losses=losses, field=field, show=show)
    assert value(steps.BITS_PER_CHARACTER, view) == pytest.approx(8 / (5 + 2 + 1))
    weight = torch.tensor([[0, 1, 1], [1, 0, 0], [0, 0, 0]])  # what does not count has no characters, either
    view = seen(target, target, weight, losses=losses, field=field, show=show)
    assert value(steps.BITS_PER_CHARACTER, view) == pytest.approx(3 / (3 + 1))


def test_the_bits_of_a_text_are_over_its_characters_whatever_the_tokeniser(tmp_path):
    (tmp_path / "text.txt").write_text("naïve cats sat on naïve mats. " * 60)
    for tokeniser in ("characters", "bpe"):
        data = ["data=text", f"data.path={tmp_path}/text.txt", "data.length=40", f"data.tokeniser.type={tokeniser}"]
        graph, objective = compile_config(
            compose([*data, "data.tokeniser.vocabulary=300", "model=language_model", *SMALL])
        )
        batch = objective.batch("valid", range(objective.source.size("valid")))
        found = evaluate(graph.materialise(), objective, [batch]).values
        tokens, characters = int(batch.weight("target").sum()), 30 * 60 / 10
        assert (tokens < characters) == (tokeniser == "bpe")
        bits = found["loss"] / math.log(2) * tokens / characters
        assert found["bits_per_character"] == pytest.approx(bits, rel=1e-5)


def test_samples_show_what_was_to_be_predicted_and_leave_the_rest_as_it_is():
    graph, objective = family("tags")
    batch = objective.batch("valid", range(3))
    found = evaluate(graph, objective, [batch], samples=2).samples
    assert len(found) == 2
    for sample, weight in zip(found, batch.weights["target"], strict=False):
        words = sample["found"].split()
        assert [word == "<blank>" for word in words] == [not counts for counts in weight.tolist()]
        assert sample["right"] == (sample["found"] == sample["wanted"])


# A whole evaluation, against a loop


def row_by_row(graph, objective, count):
    """Every row alone, without any padding: what a person would compute."""
    head = graph.heads[0]
    module = graph.nodes["output"]
    found = []
    graph.eval()
    for row in range(count):
        batch = objective.batch("valid", [row])
        inputs = {name: batch.signals[name] for name in graph.plan.inputs if name not in graph.plan.generated}
        with torch.no_grad():
            outputs, _ = graph(inputs | graph.shifted(batch.signals))
            losses = graph.losses(outputs, batch.signals)["output"]
        found.append((losses, batch.weight(head.predicts), module.predict(outputs["output"]), batch.signals, inputs))
    return found


def test_an_evaluation_of_tags_equals_a_loop_over_rows():
    graph, objective = family("tags")
    found = evaluate(graph, objective, [objective.batch("valid", range(9))]).values
    rows = row_by_row(graph, objective, 9)
    losses = torch.cat([losses[weight > 0] for losses, weight, *_ in rows])
    assert len(losses) < sum(losses.numel() for losses, *_ in rows), "some steps are <blank>"
    assert found["loss"] == pytest.approx(float(losses.mean()), rel=1e-5)
    right = torch.cat([(p.values == s["target"].values)[w > 0] for _, w, p, s, _ in rows])
    assert found["accuracy"] == pytest.approx(float(right.double().mean()))


def test_an_evaluation_of_generated_tokens_equals_a_loop_over_rows():
    graph, objective = family("generated tokens")
    wanted_of = objective.batch("valid", range(9)).signals["target"]
    shown = objective.show("target", wanted_of)

    def half_right(graph, inputs, head, length):
        """The right answer for every other row: the first symbol of what is given says which rows these are."""
        assert length > int(wanted_of.counts[: len(inputs["source"].values)].max())
        values = torch.full((inputs["source"].batch, length), 1)
        counts = inputs["source"].counts
        for i, n in enumerate(counts.tolist()):
            values[i, :n] = inputs["source"].values[i, :n]
            if i % 2:
                values[i, 0] = 2 + (values[i, 0] - 1) % 5
        return Ids(values)

    found = evaluate(graph, objective, [objective.batch("valid", range(9))], decode=half_right, samples=3)
    assert found.values["exact"] == pytest.approx(5 / 9)
    assert found.values["wer"] == pytest.approx(4 / sum(len(text.split()) for text in shown))
    assert [sample["right"] for sample in found.samples] == [True, False, True]
    assert [sample["wanted"] for sample in found.samples] == shown[:3]
    assert found.samples[0]["found"] == shown[0]
    assert found.samples[1]["source"] == shown[1], "copy is given what it has to write"
    rows = row_by_row(graph, objective, 9)
    losses = torch.cat([losses.flatten() for losses, *_ in rows])
    assert found.values["loss"] == pytest.approx(float(losses.mean()), rel=1e-5)
    right = torch.cat([(p.values == s["target"].values).flatten() for _, _, p, s, _ in rows])
    assert found.values["token_accuracy"] == pytest.approx(float(right.double().mean()))


def test_an_evaluation_of_an_alignment_reads_what_the_head_predicts():
    graph, objective = family("alignment")
    found = evaluate(graph, objective, [objective.batch("valid", range(9))], samples=9)
    rows = row_by_row(graph, objective, 9)
    cost = sum(float(losses) for losses, *_ in rows) / sum(int(s["target"].counts) for *_, s, _ in rows)
    assert found.values["loss"] == pytest.approx(cost, rel=1e-5)
    assert cost > 0
    written = [objective.show("target", p)[0] for _, _, p, _, _ in rows]
    assert [sample["found"] for sample in found.samples] == written


def test_a_forecast_goes_on_from_its_own_steps_and_not_from_the_true_ones():
    graph, objective = family("forecast")
    batch = objective.batch("valid", range(6))
    found = evaluate(graph, objective, [batch]).values
    target, source = batch.signals["target"], batch.signals["source"]
    written = torch.zeros(6, 0, 1)
    graph.eval()
    with torch.no_grad():
        for _ in range(target.time):  # everything anew for every step: no state
            late = torch.cat([torch.zeros(6, 1, 1), written], dim=1)
            outputs, _ = graph({"source": source, "target": Seq(late)})
            written = torch.cat([written, outputs["output"].values[:, -1:]], dim=1)
    mse = float((written - target.values).square().mean())
    assert found["mse"] == pytest.approx(mse, rel=1e-4)
    naive = float((source.values[:, -1:] - target.values).square().mean())
    assert found["mse_over_naive"] == pytest.approx(mse / naive, rel=1e-4)


# The laws of sums


@pytest.mark.parametrize("name", FAMILIES)
@given(st.randoms(use_true_random=False))
@settings(max_examples=3)
def test_any_split_into_batches_in_any_order_gives_the_same_values(name, rng):
    graph, objective = family(name)
    rows = list(range(10))
    whole = evaluate(graph, objective, [objective.batch("valid", rows)]).values
    rng.shuffle(rows)
    cuts = sorted({0, 10, *(rng.randint(0, 10) for _ in range(3))})
    batches = [objective.batch("valid", rows[a:b]) for a, b in pairwise(cuts)]
    close(evaluate(graph, objective, batches).values, whole, 1e-4)


@pytest.mark.parametrize("name", FAMILIES)
def test_two_processes_equal_one(name):
    graph, objective = family(name)
    batches = [objective.batch("valid", range(start, start + 3)) for start in range(0, 9, 3)]
    parts = []

    def remember(sums):
        parts.append(sums)
        return sums

    evaluate(graph, objective, batches[:1], reduce=remember)
    evaluate(graph, objective, batches[1:], reduce=remember)
    evaluate(graph, objective, [], reduce=remember)  # a process without a part in it
    assert all(part.dtype == torch.float64 for part in parts)
    together = evaluate(graph, objective, [], reduce=lambda sums: sum(parts)).values
    close(together, evaluate(graph, objective, batches).values)


def polluted(signal, junk):
    """Other values in the padding, and more of it."""
    if not isinstance(signal, Timed):
        return signal
    values = torch.cat([signal.values, signal.values[:, :2]], dim=1)
    longer = type(signal)(values, signal.counts)
    return type(signal)(longer.filled(junk), signal.counts)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in ("there or not", "numbers", "label")])
def test_nothing_in_the_padding_changes_a_value(name):
    graph, objective = family(name)
    batch = objective.batch("valid", range(8))
    signals = {n: polluted(s, 3 if isinstance(s, Ids) else math.nan) for n, s in batch.signals.items()}
    weights = {n: torch.nn.functional.pad(w, (0, 2)) for n, w in batch.weights.items()}
    close(
        evaluate(graph, objective, [Batch(signals, weights)]).values, evaluate(graph, objective, [batch]).values, 1e-4
    )


@pytest.mark.parametrize("name", ["tags", "language model"])
def test_what_has_no_weight_counts_in_no_metric(name):
    graph, objective = family(name)
    batch = objective.batch("valid", range(8))
    weight = batch.weight("target").clone()
    weight[:, 2:] = 0
    weight[3:] = 0
    found = evaluate(graph, objective, [Batch(batch.signals, {"target": weight})]).values
    target = batch.signals["target"]
    other = torch.where(weight > 0, target.values, (target.values + 1) % 5)
    if name == "tags":  # a language model would read them
        changed = Batch(batch.signals | {"target": Ids(other, target.lengths)}, {"target": weight})
        close(evaluate(graph, objective, [changed]).values, found)
    few = Batch({n: taken(s, [0, 1, 2]) for n, s in batch.signals.items()}, {})
    few.weights["target"] = weight[:3, : few.signals["target"].time]
    close(evaluate(graph, objective, [few]).values, found, 1e-5)


def test_weights_weigh():
    graph, objective = family("label")
    batch = objective.batch("valid", range(3))
    twice = objective.batch("valid", [0, 1, 1, 2, 2, 2])
    weighed = Batch(batch.signals, {"target": torch.tensor([1.0, 2.0, 3.0])})
    close(evaluate(graph, objective, [weighed]).values, evaluate(graph, objective, [twice]).values, 1e-5)


@pytest.mark.parametrize("name", ["generated tokens", "forecast"])
def test_metrics_of_what_is_generated_are_of_the_rows_that_were(name):
    graph, objective = family(name)
    batches = [objective.batch("valid", range(start, start + 4)) for start in (0, 4, 8)]
    some = evaluate(graph, objective, batches[:2], forced=batches[2:], keep=True)
    first = evaluate(graph, objective, [objective.batch("valid", range(8))])
    every = evaluate(graph, objective, batches)
    whole = [key for key, score in some.scores.items() if score.metric.whole]
    assert whole
    assert "loss" not in whole
    for key in some.values:
        assert len(some.statistics[key]) == (8 if key in whole else 12)
        wanted = first if key in whole else every
        assert some.values[key] == pytest.approx(wanted.values[key], rel=1e-4)
    none = evaluate(graph, objective, [], forced=batches)
    assert all(math.isnan(none.values[key]) == (key in whole) for key in none.values)


# What is nothing


@pytest.mark.parametrize("name", FAMILIES)
def test_no_example_and_no_weight_give_nan(name):
    graph, objective = family(name)
    batch = objective.batch("valid", range(4))
    target = batch.signals["target"]
    shape = target.values.shape[: 2 if isinstance(target, Timed) else 1]
    unweighted = Batch(batch.signals, {"target": torch.zeros(shape)})
    empty = Batch({key: nothing(signal) for key, signal in batch.signals.items()})
    for batches in ([], [empty], [unweighted]):
        found = evaluate(graph, objective, batches, keep=True)
        assert all(math.isnan(number) for number in found.values.values()), found.values
        assert all(math.isnan(bound) for bound in found.interval("loss"))


def nothing(signal):
    """A signal without rows."""
    values = signal.values[:0]
    return type(signal)(values, signal.counts[:0]) if isinstance(signal, Timed) else type(signal)(values)


def test_a_target_that_never_changes_has_no_naive_error_to_compare_with():
    wanted = torch.full((5, 1), 0.1, dtype=torch.float64)
    assert math.isnan(value(numbers.over_mean(1), seen(Vec(wanted), Vec(wanted + 1))))
    past = {"past": Seq(wanted[:, None])}
    view = seen(Seq(wanted[:, None]), Seq(wanted[:, None] + 1), given=past)
    assert all(math.isnan(value(metric, view)) for metric in numbers.over_last("past"))


def test_a_share_of_no_characters_is_nan():
    assert math.isnan(of_texts(texts.CER, [""], ["a"]))
    assert math.isnan(of_texts(texts.WER, [""], [""]))
    assert math.isnan(of_texts(texts.CHRF, [""], [""]))


# Intervals


def test_the_interval_of_a_mean_is_the_normal_one():
    graph, objective = family("label")
    found = evaluate(graph, objective, [objective.batch("valid", range(400))], keep=True)
    losses = found.statistics["loss"][:, 0]
    error = float(losses.std() / 20)
    for confidence, z in ((0.95, 1.96), (0.8, 1.2816)):
        low, high = found.interval("loss", confidence, resamples=4000)
        assert low == pytest.approx(found.values["loss"] - z * error, abs=0.15 * error)
        assert high == pytest.approx(found.values["loss"] + z * error, abs=0.15 * error)
    assert found.interval("loss", seed=1) == found.interval("loss", seed=1) != found.interval("loss", seed=2)


def test_an_interval_is_that_of_metrics_of_resampled_rows():
    """For one that is no mean: F1 of rows drawn with replacement, one resample after the other."""
    graph, objective = family("label")
    found = evaluate(graph, objective, [objective.batch("valid", range(60))], keep=True)
    rows, score = found.statistics["f1"], found.scores["f1"]
    rng = random.Random(0)
    drawn = sorted(float(score.value(rows[[rng.randrange(60) for _ in range(60)]].sum(0))) for _ in range(3000))
    low, high = found.interval("f1", 0.9, resamples=3000)
    assert low == pytest.approx(drawn[150], abs=0.02)
    assert high == pytest.approx(drawn[-150], abs=0.02)


def test_intervals_need_what_was_kept_and_a_metric_that_is_there():
    graph, objective = family("label")
    found = evaluate(graph, objective, [objective.batch("valid", range(4))])
    with pytest.raises(UserError, match="keep=True"):
        found.interval("loss")
    with pytest.raises(UserError, match="Did you mean 'accuracy'"):
        found.interval("acuracy")
    with pytest.raises(Invalid, match="one process"):
        evaluate(graph, objective, [], keep=True, reduce=lambda sums: sums)


# What an evaluation leaves behind


def test_every_module_is_in_its_own_mode_again():
    graph, objective = family("label")
    graph.train()
    graph.nodes["pool"].eval()
    modes = [module.training for module in graph.modules()]

    def broken():
        yield objective.batch("valid", range(2))
        assert not any(module.training for module in graph.modules())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(graph, objective, broken())
    assert [module.training for module in graph.modules()] == modes
    graph.eval()


def test_smoothed_labels_are_for_training_alone():
    graph, objective = family("label")
    overrides = [*FAMILIES["label"][0], *SMALL, "model.nodes.output.label_smoothing=0.3"]
    smooth, _ = compile_config(compose(overrides))
    smooth = smooth.materialise()
    batches = [objective.batch("valid", range(5))]
    assert evaluate(smooth, objective, batches).values == evaluate(graph, objective, batches).values
    outputs, _ = smooth({"source": batches[0].signals["source"]})
    trained = smooth.train().losses(outputs, batches[0].signals)["output"]
    assert not torch.allclose(trained, smooth.eval().losses(outputs, batches[0].signals)["output"])


def test_pictures_are_not_shown_as_text():
    fields = {"source": Field("image", channels=1, height=8, width=8), "target": TARGETS["label"]}
    nodes = {
        "embedded": {"kind": "embedding", "type": "patches", "from": "source", "size": 4, "dim": 4},
        "pool": {"kind": "pool", "type": "mean", "from": "embedded"},
        "output": {"kind": "head", "type": "categorical", "from": "pool", "predicts": "target"},
    }
    graph: Graph = compile_graph(nodes, fields).materialise()
    signals = {"source": Image(torch.randn(3, 1, 8, 8)), "target": Label(torch.tensor([0, 1, 2]))}
    found = evaluate(graph, Drawn(fields), [Batch(signals)], samples=2)
    assert [set(sample) for sample in found.samples] == [{"wanted", "found", "right"}] * 2


def test_a_language_model_has_nothing_to_compare_and_shows_nothing():
    graph, objective = family("language model")
    assert evaluate(graph, objective, [objective.batch("valid", range(3))]).samples == []


@pytest.mark.parametrize("name", FAMILIES)
def test_the_loss_is_the_one_that_training_lowers(name):
    from composer.training.feed import weigh
    from composer.training.module import loss_sums

    graph, objective = family(name)
    batches = [objective.batch("valid", range(5)), objective.batch("valid", range(5, 7))]
    sums = torch.zeros(1)
    graph.eval()
    with torch.no_grad():
        for batch in batches:
            inputs = {key: batch.signals[key] for key in graph.plan.inputs if key not in graph.plan.generated}
            outputs, _ = graph(inputs | graph.shifted(batch.signals))
            sums = sums + loss_sums(graph, outputs, batch)
    trained = float(sums[0] / weigh(batches, "target"))
    assert evaluate(graph, objective, batches).values["loss"] == pytest.approx(trained, rel=1e-5)
