"""The values of metrics, against torchmetrics and against their definitions."""

import math
import random
from dataclasses import replace

import pytest
import torch
import torchmetrics.functional as reference
import torchmetrics.functional.text as reference_text
from hypothesis import given, settings
from hypothesis import strategies as st

from composer.config.assembly import compile_config
from composer.config.composition import compose
from composer.core import registry
from composer.core.problems import UserError
from composer.core.signals import Contents, Field, Ids, Label, Seq, Vec
from composer.metrics import evaluate
from composer.metrics.texts import edit_distance
from tests.support.metrics import SMALL, TARGETS, family, metric, of_texts, seen, value

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
    assert of_texts("cer", wanted, found) == pytest.approx(
        float(reference_text.char_error_rate(found, wanted)), rel=1e-6
    )
    assert of_texts("wer", wanted, found) == pytest.approx(
        float(reference_text.word_error_rate(found, wanted)), rel=1e-6
    )
    bleu = float(reference_text.bleu_score(found, [[text] for text in wanted]))
    assert bleu > 0
    assert of_texts("bleu", wanted, found) == pytest.approx(bleu, rel=1e-5)


def test_bleu_punishes_what_is_short_and_not_what_is_long():
    wanted, found = corpus(0)
    for found in ([text + " and more" for text in wanted], [text.rpartition(" ")[0] for text in wanted]):
        bleu = float(reference_text.bleu_score(found, [[text] for text in wanted]))
        assert of_texts("bleu", wanted, found) == pytest.approx(bleu, rel=1e-5)


@given(st.text("ab ", max_size=9), st.text("abc ", max_size=9))
@settings(max_examples=200)
def test_the_edit_distance_is_that_of_the_recursion(a, b):
    table = list(range(len(b) + 1))
    for i, x in enumerate(a):
        row = [i + 1]
        for j, y in enumerate(b):
            row.append(min(table[j] + (x != y), table[j + 1] + 1, row[j] + 1))
        table = row
    assert edit_distance(a, b) == table[-1] == edit_distance(list(b), list(a))


def test_a_long_text_has_the_edit_distance_of_its_changes():
    rng = random.Random(0)
    text = [rng.randrange(1000) for _ in range(300)]
    changed = [-1 if i % 50 == 0 else x for i, x in enumerate(text) if i % 70 != 69]
    assert edit_distance(text, changed) == 6 + 4


def test_short_texts_can_be_wholly_right():
    assert of_texts("chrf", ["ab"], ["ab"]) == 1
    assert of_texts("chrf", ["ab"], ["cd"]) == 0
    assert math.isnan(of_texts("bleu", ["a b c"], ["a b c"])), "no text has four words: BLEU cannot tell"
    assert of_texts("bleu", ["a b c d"], ["a b c"]) == 0
    assert of_texts("exact", ["a", "", "c"], ["a", "", "d"]) == pytest.approx(2 / 3)


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
    tag, label = (Field(kind, vocabulary=classes) for kind in ("ids", "label"))
    wanted, found = (torch.randint(classes - 1, weight.shape, generator=generator) for _ in range(2))
    tags = seen(Ids(wanted, lengths), Ids(found, lengths), weight)
    kept = found[weight], wanted[weight]
    options = {"task": "multiclass", "num_classes": classes}  # the last class never occurs
    macro = float(reference.f1_score(*kept, average="macro", **options))
    assert value(metric("macro_f1", tag), tags) == value(metric("f1", tag), tags) == pytest.approx(macro)
    micro = float(reference.accuracy(*kept, average="micro", **options))
    assert value(metric("accuracy", tag), tags) == value(metric("token_accuracy", tag), tags) == pytest.approx(micro)
    rows = seen(Label(wanted[:, 0]), Label(found[:, 0]))
    macro = float(reference.f1_score(found[:, 0], wanted[:, 0], average="macro", **options))
    assert value(metric("macro_f1", label), rows) == pytest.approx(macro)
    hits = [bool((found[i] == wanted[i])[weight[i]].all()) for i in range(len(weight)) if weight[i].any()]
    assert value(metric("exact", tag), tags) == pytest.approx(sum(hits) / len(hits))


@pytest.mark.parametrize("seed", range(3))
def test_the_accuracy_is_compared_with_always_answering_the_commonest_tag(seed):
    generator, lengths, weight = ragged(seed)
    tag = Field("ids", vocabulary=5)
    wanted, found = (torch.randint(5, weight.shape, generator=generator) for _ in range(2))
    commonest = max(range(5), key=lambda c: int((wanted[weight] == c).sum()))
    always = value(metric("accuracy", tag), seen(Ids(wanted, lengths), Ids(torch.full_like(found, commonest)), weight))
    view = seen(Ids(wanted, lengths), Ids(found, lengths), weight)
    ratio = value(metric("accuracy_over_commonest", tag), view)
    assert ratio == pytest.approx(value(metric("accuracy", tag), view) / always)
    half = [seen(Ids(wanted[i], lengths[i]), Ids(found[i], lengths[i]), weight[i]) for i in (slice(4), slice(4, None))]
    assert value(metric("accuracy_over_commonest", tag), *half) == pytest.approx(ratio)


@pytest.mark.parametrize("seed", range(3))
def test_the_top_accuracy_equals_that_of_torchmetrics(seed):
    generator, lengths, weight = ragged(seed)
    logits = torch.randn(*weight.shape, 9, generator=generator, dtype=torch.float64)
    wanted = torch.randint(9, weight.shape, generator=generator)
    head = registry.blocks("head")["categorical"](4, 9)
    view = replace(seen(Ids(wanted, lengths), Ids(logits.argmax(-1)), weight), head=head, output=Seq(logits, lengths))
    theirs = reference.accuracy(
        logits[weight], wanted[weight], task="multiclass", num_classes=9, top_k=5, average="micro"
    )
    top = metric("top5_accuracy", Field("ids", vocabulary=9), likelihoods=True)
    assert value(top, view) == pytest.approx(float(theirs))
    assert value(top, view.first(3)) == pytest.approx(float((logits.argsort(-1, descending=True)[..., :5]
        == wanted[..., None]).any(-1)[:3][weight[:3]].double().mean()))  # fmt: skip
    with pytest.raises(UserError, match="its head does not give"):
        metric("top5_accuracy", Field("ids", vocabulary=9))


@pytest.mark.parametrize("seed", range(3))
def test_the_perplexity_equals_that_of_torchmetrics(seed):
    generator, lengths, weight = ragged(seed)
    logits = torch.randn(*weight.shape, 6, generator=generator, dtype=torch.float64)
    wanted = torch.randint(6, weight.shape, generator=generator)
    losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="none")
    view = seen(Ids(wanted, lengths), Ids(logits.argmax(-1), lengths), weight, losses.view_as(wanted))
    ignored = wanted.masked_fill(~weight, -100)
    assert value(metric("perplexity", TARGETS["ids"]), view) == pytest.approx(
        float(reference_text.perplexity(logits, ignored, ignore_index=-100)), rel=1e-6
    )
    losses = losses.view_as(wanted)
    loss = metric("loss", TARGETS["ids"])
    assert value(loss, view) == pytest.approx(float(losses[weight].mean()))
    unknown = losses.masked_fill(~weight, math.nan)  # what does not count may be anything
    assert value(loss, replace(view, losses=unknown)) == value(loss, view)


@pytest.mark.parametrize("seed", range(3))
def test_number_metrics_equal_torchmetrics(seed):
    generator, lengths, weight = ragged(seed)
    wanted, found = (torch.randn(*weight.shape, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    before = torch.randn(len(weight), 4, 3, generator=generator, dtype=torch.float64)
    given_lengths = torch.randint(1, 5, (len(weight),), generator=generator)
    view = seen(Seq(wanted, lengths), Seq(found, lengths), weight, given={"past": Seq(before, given_lengths)})
    steps, row, past = Field("seq", dim=3), Field("vec", dim=3), {"past": Field("seq", dim=3)}
    mse, mae = reference.mean_squared_error, reference.mean_absolute_error
    assert value(metric("mse", steps), view) == pytest.approx(float(mse(found[weight], wanted[weight])))
    assert value(metric("mae", steps), view) == pytest.approx(float(mae(found[weight], wanted[weight])))
    last = torch.stack([row[n - 1] for row, n in zip(before, given_lengths, strict=True)])
    naive = last[:, None].expand_as(wanted)
    squared, absolute = (metric(name, steps, past) for name in ("mse_over_naive", "mae_over_naive"))
    ratio = mse(found[weight], wanted[weight]) / mse(naive[weight], wanted[weight])
    assert value(squared, view) == pytest.approx(float(ratio))
    ratio = mae(found[weight], wanted[weight]) / mae(naive[weight], wanted[weight])
    assert value(absolute, view) == pytest.approx(float(ratio))
    wide = torch.cat([before[..., [2]], torch.ones_like(before), before[..., :2]], -1)  # other channels are inputs, too
    named, among = (
        replace(steps, contents=Contents(names=("a", "b", "c"))),
        {"past": Field("seq", dim=6, contents=Contents(names=("c", *"xyz", "a", "b")))},
    )
    inside = replace(view, given={"past": Seq(wide, given_lengths)})
    assert value(metric("mae_over_naive", named, among), inside) == pytest.approx(float(ratio))
    mean = wanted[weight].mean(0).expand_as(wanted[weight]).contiguous()
    ratio = mse(found[weight], wanted[weight]) / mse(mean, wanted[weight])
    assert value(metric("mse_over_naive", steps), view) == pytest.approx(float(ratio))
    found, wanted = found[:, 0].contiguous(), wanted[:, 0].contiguous()
    rows = seen(Vec(wanted), Vec(found))
    assert value(metric("mse", row), rows) == pytest.approx(float(mse(found, wanted)))
    r2 = reference.r2_score(found, wanted, multioutput="variance_weighted")
    assert value(metric("mse_over_naive", row), rows) == pytest.approx(1 - float(r2))


@pytest.mark.parametrize("seed", range(3))
def test_metrics_of_labels_there_or_not_equal_torchmetrics(seed):
    generator, lengths, weight = ragged(seed)
    wanted, found = (torch.randint(2, (*weight.shape, 3), generator=generator) for _ in range(2))
    view = seen(Seq(wanted.float(), lengths), Seq(found.float(), lengths), weight)
    kept = found[weight], wanted[weight]
    there = Field("seq", dim=3)
    macro = reference.f1_score(*kept, task="multilabel", num_labels=3, average="macro")
    assert value(metric("macro_f1", there), view) == pytest.approx(float(macro))
    rows = seen(Vec(wanted[:, 0].float()), Vec(found[:, 0].float()))
    macro = reference.f1_score(found[:, 0], wanted[:, 0], task="multilabel", num_labels=3, average="macro")
    assert value(metric("macro_f1", Field("vec", dim=3)), rows) == pytest.approx(float(macro))
    assert value(metric("micro_f1", there), view) == pytest.approx(float(reference.f1_score(*kept, task="binary")))
    assert value(metric("accuracy", there), view) == pytest.approx(float(reference.accuracy(*kept, task="binary")))


def test_bits_are_counted_a_character_of_the_text_and_not_a_token():
    tokens = ("<sos>", "<eos>", "<unk>", "ab", "c", "déf")
    field = Field("ids", vocabulary=6, start=0, stop=1, contents=Contents(tokens=tokens, special=(0, 1, 2), text=True))

    def show(signal):
        rows = zip(signal.values.tolist(), signal.counts.tolist(), strict=True)
        return ["".join(tokens[i] for i in row[:n]) for row, n in rows]

    target = Ids(torch.tensor([[3, 5, 1], [4, 2, 1], [4, 1, -7]]), torch.tensor([3, 3, 2]))
    losses = torch.full((3, 3), math.log(2))
    view = seen(target, target, losses=losses, field=field, show=show)
    assert value(metric("bits_per_character", field), view) == pytest.approx(8 / (5 + 2 + 1))
    weight = torch.tensor([[0, 1, 1], [1, 0, 0], [0, 0, 0]])  # what does not count has no characters, either
    view = seen(target, target, weight, losses=losses, field=field, show=show)
    assert value(metric("bits_per_character", field), view) == pytest.approx(3 / (3 + 1))


@pytest.mark.slow
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
