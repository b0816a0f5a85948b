"""The law of intervals: each contains its value, whatever the metric and the examples, and they cover the truth."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from composer.core import registry
from composer.core.bounds import Bounds
from composer.core.signals import Contents, Field, Ids, Label, Seq
from composer.metrics.bootstrap import Examples
from composer.metrics.evaluation import Evaluation, Score
from tests.support.metrics import metric, seen

ENTITY_TAGS = ("O", "B-A", "I-A", "B-B", "I-B")
TEXTS = ("", "a", "the cat sat on the mat", "the cat sat on a mat", "a cat", "on the mat the cat sat here")
TEXT = Field("ids", vocabulary=len(TEXTS), contents=Contents(tokens=TEXTS))


def of_classes(generator, rows, classes, *, names=None, kind="label"):
    """Targets and predictions: all classes are equally common, or some are rare; half of the predictions are right."""
    field = Field(kind, vocabulary=classes, contents=Contents(tokens=names))
    shape = (rows,) if kind == "label" else (rows, 5)
    skew = int(torch.randint(3, (), generator=generator))
    weights = torch.arange(1.0, classes + 1) ** -skew
    wanted, other = (
        torch.multinomial(weights, math.prod(shape), True, generator=generator).view(shape) for _ in range(2)
    )
    found = torch.where(torch.rand(shape, generator=generator) < 0.5, wanted, other)
    losses = torch.rand(shape, generator=generator).exp()
    if kind == "label":
        return field, seen(Label(wanted), Label(found), losses=losses, field=field)
    lengths = torch.randint(1, 6, (rows,), generator=generator)
    return field, seen(Ids(wanted, lengths), Ids(found, lengths), losses=losses, field=field, show=shown)


def shown(signal):
    return ["x" * int(count) for count in signal.counts]


def of_numbers(generator, rows, classes, *, binary=False, naive=False):
    """Several channels; with one class, all targets are the same."""
    field = Field("seq", dim=2)
    wanted, found = (torch.randint(classes, (rows, 3, 2), generator=generator).float() for _ in range(2))
    if binary:
        wanted, found = wanted.clamp(max=1), found.clamp(max=1)
    given = {"source": Seq(torch.randn(rows, 2, 2, generator=generator))} if naive else {}
    return field, seen(Seq(wanted), Seq(found), field=field, given=given)


def of_bounds(generator, rows, classes):
    field, view = of_numbers(generator, rows, classes)
    return field, replace(view, bounds=Bounds.of([torch.randn(50, 3, 2, generator=generator)]))


def of_texts(generator, rows, classes):
    wanted, found = (torch.randint(min(classes, len(TEXTS)), (rows,), generator=generator) for _ in range(2))
    return TEXT, seen(Label(wanted), Label(found), field=TEXT, show=lambda s: [TEXTS[i] for i in s.values])


def of_entities(generator, rows, classes):
    return of_classes(generator, rows, len(ENTITY_TAGS), names=ENTITY_TAGS, kind="ids")


def of_tags(generator, rows, classes):
    return of_classes(generator, rows, classes, kind="ids")


def of_likelihoods(generator, rows, classes):
    field, view = of_classes(generator, rows, classes)
    object.__setattr__(view, "log_likelihoods", torch.randn(rows, classes, generator=generator).log_softmax(-1))
    return field, view


SOURCE = {"source": Field("seq", dim=2)}

#: How the examples of every metric are drawn, and what else its target has.
DRAWN = {
    "loss": (of_tags, {}),
    "perplexity": (of_tags, {}),
    "bits_per_character": (of_tags, {}),
    "accuracy": (of_classes, {}),
    "token_accuracy": (of_tags, {}),
    "exact": (of_tags, {}),
    "f1": (of_classes, {}),
    "macro_f1": (of_tags, {}),
    "micro_f1": (lambda *a: of_numbers(*a, binary=True), {"binary": True}),
    "accuracy_over_commonest": (of_classes, {}),
    "top5_accuracy": (of_likelihoods, {"likelihoods": True}),
    "entity_f1": (of_entities, {}),
    "entity_precision": (of_entities, {}),
    "entity_recall": (of_entities, {}),
    "mse": (of_numbers, {}),
    "mae": (of_numbers, {}),
    "mse_over_naive": (of_numbers, {}),
    "mae_over_naive": (lambda *a: of_numbers(*a, naive=True), {"given": SOURCE}),
    "coverage": (of_bounds, {}),
    "bleu": (of_texts, {"aligned": False}),
    "chrf": (of_texts, {"aligned": False}),
    "cer": (of_texts, {"aligned": False}),
    "wer": (of_texts, {"aligned": False}),
}  # fmt: skip


def evaluated(name, seed, rows, classes):
    draw, about = DRAWN[name]
    field, view = draw(torch.Generator().manual_seed(seed), rows, classes)
    one = metric(name, field, **about)
    score, statistics = Score({"output": one}), one.rows(view)
    value = float(score.value(statistics.sum(0)))
    return Evaluation({name: value}, [], {name: statistics}, {name: score}, Examples()), score, statistics


def test_every_registered_metric_is_tried():
    own = {name for name, found in registry.entries("metric").items() if found.__module__.startswith("composer.")}
    assert own == set(DRAWN)


@pytest.mark.parametrize("name", DRAWN)
@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 300),
    classes=st.integers(1, 40),
    confidence=st.sampled_from([0.3, 0.95]),
)
@settings(max_examples=25)
def test_every_interval_contains_its_value_and_only_possible_ones(name, seed, rows, classes, confidence):
    found, score, statistics = evaluated(name, seed, rows, classes)
    value, (low, high) = found.values[name], found.interval(name, confidence, resamples=100)
    assert math.isnan(value) == (math.isnan(low) and math.isnan(high))
    if math.isnan(value):
        return
    assert low <= value <= high
    assert score.possible[0] <= low <= high <= score.possible[1]
    resampled = score.value(score.resampled(statistics).sum(0))
    assert float(resampled) == pytest.approx(value, abs=1e-9), "what is settled once leaves the value as it is"


@pytest.mark.parametrize("name", DRAWN)
def test_an_interval_is_no_wider_than_that_of_the_percentiles(name):
    found, score, statistics = evaluated(name, 1, 50, 8)
    sums = torch.cat([counts @ score.resampled(statistics) for counts in Examples().counts(50, 200, 0)])
    low, high = score.value(sums).nanquantile(torch.tensor([0.025, 0.975], dtype=torch.float64)).tolist()
    mine = found.interval(name, resamples=200)
    assert mine[1] - mine[0] <= high - low + 1e-12


def test_the_commonest_class_is_found_once():
    """Of fifty classes that are equally common, some class is always commoner in a resample than any is in all."""
    field, wanted = Field("label", vocabulary=50), torch.arange(400) % 50
    one = metric("accuracy_over_commonest", field)
    statistics = one.rows(seen(Label(wanted), Label(wanted), field=field))
    score = Score({"output": one})
    found = Evaluation({"a": 50.0}, [], {"a": statistics}, {"a": score}, Examples())
    low, high = found.interval("a")
    share = torch.distributions.Binomial(400, torch.tensor(1 / 50)).sample((4000,)) / 400
    wanted_low, wanted_high = (1 / share).quantile(torch.tensor([0.025, 0.975])).tolist()
    assert low == pytest.approx(wanted_low, rel=0.1)
    assert high == pytest.approx(wanted_high, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["accuracy", "macro_f1", "accuracy_over_commonest"])
def test_intervals_cover_the_truth(name):
    """Four classes of which the commonest is twice as common as the next: 95 % of intervals, as far as 300 tell."""
    generator, field = torch.Generator().manual_seed(5), Field("label", vocabulary=4)
    one = metric(name, field)

    def statistics(rows):
        wanted, other = (
            torch.multinomial(torch.tensor([4.0, 2.0, 1.0, 1.0]), rows, True, generator=generator) for _ in range(2)
        )
        right = torch.rand(rows, generator=generator) < torch.tensor([0.9, 0.7, 0.6, 0.4])[wanted]
        return one.rows(seen(Label(wanted), Label(torch.where(right, wanted, other)), field=field))

    truth, covered, score = float(one.value(statistics(400_000).sum(0))), 0, Score({"output": one})
    for _ in range(300):
        drawn = statistics(150)
        found = Evaluation({name: float(one.value(drawn.sum(0)))}, [], {name: drawn}, {name: score}, Examples())
        low, high = found.interval(name, resamples=300)
        covered += low <= truth <= high
    assert 0.91 <= covered / 300 <= 0.985
