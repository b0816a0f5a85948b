"""The rule of tuning: on any unimodal curve it ends at a best value between close neighbours, or says why not."""

import math
import random
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from composer.studies.tuning.search_space import Choice, Interval
from composer.studies.tuning.tuning_rule import best_value, fewest, search

RATE = "optimiser.learning_rate"
LOW, HIGH = 3e-4, 3e-2
SPACE = {RATE: Interval(LOW, HIGH, log=True)}


def valley(optimum, below, above, diverges=math.inf):
    """The loss by rate: unimodal in the logarithm, steeper or flatter on either side; above a rate training fails."""

    def loss(rate):
        distance = math.log10(rate / optimum)
        return math.inf if rate > diverges else 1 + (below if distance < 0 else above) * distance**2

    return loss


def tuned(space, limit, cost):
    """The whole search, given the cost of a point."""
    return search(space, limit, lambda _, point: cost(point))


slopes = st.floats(0.01, 100)


@given(st.floats(math.log10(LOW) - 0.5, math.log10(HIGH) + 0.5), slopes, slopes)
def test_an_optimum_up_to_half_a_decade_beyond_the_range_is_tuned_within_nine_points(place, below, above):
    loss = valley(10**place, below, above)
    found = tuned(SPACE, 9, lambda point: loss(point[RATE]))
    assert (found.complete, found.untuned) == (True, "")
    assert len(found.points) <= 9
    rates = sorted(point[RATE] for point in found.points)
    at = rates.index(found.best[RATE])
    assert 0 < at < len(rates) - 1, "interior"
    assert all(high / low < 2.03 for low, high in pairwise(rates[at - 1 : at + 2])), "neighbours within a factor of two"
    assert loss(found.best[RATE]) == min(map(loss, rates))
    assert rates[at - 1] <= 10**place <= rates[at + 1], "the optimum of the curve is enclosed"


@given(st.floats(-8, 3), slopes, slopes, st.integers(7, 30), st.floats(-6, 3))
def test_an_arm_is_called_tuned_if_and_only_if_its_best_has_close_neighbours(place, below, above, limit, diverges):
    loss = valley(10**place, below, above, 10**diverges)
    assume(loss(LOW) < math.inf)
    found = tuned(SPACE, limit, lambda point: loss(point[RATE]))
    rates = sorted(point[RATE] for point in found.points)
    assert len(rates) <= limit
    at = rates.index(found.best[RATE])
    beside = rates[max(0, at - 1) : at + 2]
    close = len(beside) == 3 and all(high / low < 2.03 for low, high in pairwise(beside))
    assert (found.untuned == "") == close, found
    if at in (0, len(rates) - 1):
        assert found.untuned == f"its best learning_rate ({rates[at]:g}) is the {'highest' if at else 'lowest'} tried"


@given(st.floats(-5, 0), slopes, slopes, st.integers(0, 2**32), st.integers(7, 12))
def test_results_in_any_order_and_interruptions_lead_to_the_same_points(place, below, above, seed, limit):
    """Trials end one at a time, in any order; each time the search is asked anew, as another process would ask."""
    loss, draw = valley(10**place, below, above), random.Random(seed)
    known = {}

    def ask():
        return search(SPACE, limit, lambda number, point: known.get((number, point[RATE])))

    order = []
    while not (found := ask()).complete:
        number, point = draw.choice(
            [(n, p) for n, p in enumerate(found.points) if (n, p[RATE]) not in known]
        )  # one of those that wait for a result
        known[number, point[RATE]] = loss(point[RATE])
        order.append((number, point))
    assert found == tuned(SPACE, limit, lambda point: loss(point[RATE]))
    assert sorted(number for number, _ in order) == list(range(len(found.points))), "each point once, none in vain"


def test_an_arm_whose_upper_end_diverges_is_tuned_below():
    found = tuned(SPACE, 9, lambda point: math.inf if point[RATE] > 0.02 else -point[RATE])
    assert found.untuned == ""
    assert found.best == {RATE: 0.01687}, "0.009487 was the best of five, then its neighbours"


def test_nothing_that_trains_is_no_best_point():
    found = tuned(SPACE, 9, lambda _: math.inf)
    assert (found.complete, found.best, len(found.points)) == (True, None, 5)


def test_a_gap_that_the_limit_left_open_is_said():
    found = tuned(SPACE, 8, lambda point: abs(math.log(point[RATE] / 0.09)))
    assert found.untuned == "no learning_rate between 0.09487 and 0.3 was tried: the limit of 8 points was reached"


def test_a_linear_interval_is_never_left_and_its_gaps_are_halved_once():
    found = tuned({"model.dropout": Interval(0.0, 0.4, log=False)}, 20, lambda point: point["model.dropout"])
    assert [point["model.dropout"] for point in found.points] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.05]
    assert (found.best, found.untuned) == ({"model.dropout": 0.0}, "")


def test_whole_numbers_and_choices_are_tried_as_they_are():
    found = tuned({"depth": Interval(1, 9, log=False), "ffn": Choice(("mlp", "glu"))}, 7, lambda point: len(point))
    assert [point["depth"] for point in found.points[:5]] == [1, 3, 5, 7, 9]
    assert [point.get("ffn") for point in found.points[5:]] == ["mlp", "glu"]
    assert fewest({"depth": Interval(1, 3, log=False)}) == 3


def test_keys_are_searched_one_after_the_other_and_the_first_leaves_room_for_the_others():
    space = {**SPACE, "model.dropout": Interval(0.0, 0.4, log=False)}
    with_dropout = lambda point: point[RATE] + abs(point.get("model.dropout", 1) - 0.12)  # noqa: E731
    found = tuned(space, 14, with_dropout)
    rates = [point for point in found.points if "model.dropout" not in point]
    assert len(rates) == 7, "of 14 points, 7 are kept for the dropout"
    assert found.untuned.startswith("its best learning_rate"), "the lower the better"
    assert {point[RATE] for point in found.points[7:]} == {found.best[RATE]} == {min(point[RATE] for point in rates)}
    assert found.best["model.dropout"] == 0.1


def test_the_value_of_the_config_stays_if_no_other_is_better():
    space = {**SPACE, "model.dropout": Choice((0.1, 0.2))}
    found = tuned(space, 9, lambda point: abs(math.log(point[RATE] / 0.003)) + point.get("model.dropout", 0))
    assert found.best == {RATE: 0.003}


@pytest.mark.parametrize(
    ("costs", "wanted"),
    [
        ({1: 0, 2: 0, 3: 0, 4: 1}, 2),
        ({1: 0, 2: 0, 3: 1, 4: 1}, 2),
        ({1: 1, 2: 1, 3: 0, 4: 0}, 3),
        ({1: 2, 2: 1, 3: 3}, 2),
        ({"b": 1, "a": 1}, "b"),
    ],
)
def test_of_equal_values_the_middle_one_is_the_best_and_an_end_is_avoided(costs, wanted):
    assert best_value(costs) == wanted


@given(st.floats(1e-6, 1), st.floats(1.01, 1e6), st.integers(2, 30), st.booleans())
def test_a_spread_begins_and_ends_with_the_ends_and_is_even(low, factor, count, log):
    high = low * factor
    found = Interval(low, high, log=log).spread(count)
    assert (found[0], found[-1]) == (low, high)
    assert len(found) <= count
    if factor > 1.5:
        steps = [math.log(b / a) if log else b - a for a, b in pairwise(found)]
        assert max(steps) < 1.1 * min(steps) + 1e-3 * (math.log(factor) if log else high)
