"""The laws of sums: no split into batches, no padding and no row without weight changes a metric."""

import math
import random
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from composer.core.problems import Invalid, UserError
from composer.core.signals import Field, Ids, Seq, Timed, Vec
from composer.metrics import evaluate
from composer.objectives import Batch
from tests.support.metrics import FAMILIES, close, family, metric, of_texts, seen, taken, value

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
    whole = [key for key, score in some.scores.items() if score.whole]
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
    assert math.isnan(value(metric("mse_over_naive", Field("vec", dim=1)), seen(Vec(wanted), Vec(wanted + 1))))
    past = {"past": Seq(wanted[:, None])}
    view = seen(Seq(wanted[:, None]), Seq(wanted[:, None] + 1), given=past)
    steps = Field("seq", dim=1)
    for name in ("mse_over_naive", "mae_over_naive"):
        assert math.isnan(value(metric(name, steps, {"past": steps}), view))


def test_a_share_of_no_characters_is_nan():
    assert math.isnan(of_texts("cer", [""], ["a"]))
    assert math.isnan(of_texts("wer", [""], [""]))
    assert math.isnan(of_texts("chrf", [""], [""]))


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


@pytest.mark.slow
def test_an_interval_is_that_of_metrics_of_resampled_rows():
    """For one that is no mean: F1 of rows drawn with replacement, one resample after the other."""
    graph, objective = family("label")
    found = evaluate(graph, objective, [objective.batch("valid", range(60))], keep=True)
    rows, score = found.statistics["macro_f1"], found.scores["macro_f1"]
    rng = random.Random(0)
    drawn = sorted(float(score.value(rows[[rng.randrange(60) for _ in range(60)]].sum(0))) for _ in range(3000))
    low, high = found.interval("macro_f1", 0.9, resamples=3000)
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
