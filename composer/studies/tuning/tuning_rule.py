"""The rule by which a study tunes an arm: which points are tried, given the results of those before them.

The keys of the space are searched one after the other, each with the best values of those before it. An interval
begins with five values, its ends among them. While the best value is the lowest or the highest tried, the next one
outwards is tried; then the middles of the gaps beside the best value, until its neighbours are within a factor of two.
A linear interval is never left, because its ends may be all that a parameter accepts, and its gaps are halved once.
Choices and whole numbers are tried as they are.

The points are a function of the results alone: rounds of points, each of them chosen when all results of the rounds
before are known. So they are the same in whatever order the results arrive, and after any interruption.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from composer.studies.tuning.search_space import Choice, Interval, Point, Space, rounded

#: The values of an interval that are tried first.
FIRST = 5

#: The largest ratio of the best value of a logarithmic interval to its neighbours, and the slack for rounded values.
CLOSE, SLACK = 2.0, 1.01

#: The cost of a point, by the point's place in the order of trying: lower is better, infinite if the point cannot be
#: trained, None if its result is not known yet.
Cost = Callable[[int, Point], float | None]


@dataclass(frozen=True)
class Searched:
    """
    points: those tried so far, in their order
    complete: whether all of their results are known, and no further point is wanted or allowed
    best: None before the search is complete, or if no point can be trained
    untuned: why the best point may not be the best there is, in words about "it"; empty if the search found an end
    """

    points: tuple[Point, ...]
    complete: bool = False
    best: Point | None = None
    untuned: str = ""


def search(space: Space, limit: int, cost: Cost) -> Searched:
    """The search of a space as far as the results are known. ``limit``: the most points that are tried."""
    points: list[Point] = []
    best, lowest, untuned, reserved = Point(), math.inf, [], fewest(space)
    for key, values in space.items():
        reserved -= fewest({key: values})
        tried: dict[Any, float] = {}
        wanted = first_values(values)
        while new := [best | {key: value} for value in wanted[: max(0, limit - reserved - len(points))]]:
            results = [cost(number, point) for number, point in enumerate(new, len(points))]
            points += new
            known = {point[key]: result for point, result in zip(new, results, strict=True) if result is not None}
            if len(known) < len(new):
                return Searched(tuple(points))
            tried |= known
            wanted = next_values(values, tried)
        untuned += [unfinished(key, values, tried, limit)] if wanted else []
        value = best_value(tried)
        if tried[value] < lowest:  # else the config's value, which the points before had, is better
            best, lowest = best | {key: value}, tried[value]
        if lowest == math.inf:
            return Searched(tuple(points), complete=True)
    return Searched(tuple(points), True, best, "; ".join(untuned))


def point_cost(values: Sequence[float | None], direction: str) -> float | None:
    """The cost of a point, by the judged metric of its runs with the tuning seeds; None for a run without a result.

    A point with a run that failed or gave NaN is worse than all others.
    """
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return fmean(known) * (1 if direction == "min" else -1) if all(map(math.isfinite, known)) else math.inf


def first_values(values: Interval | Choice) -> Sequence[Any]:
    """The values that every arm is tried at."""
    return values.values if isinstance(values, Choice) else values.spread(FIRST)


def fewest(space: Space) -> int:
    """The points that it takes to tune a space at least: where the best value never lies at an end."""
    return sum(len(first_values(values)) + 2 * _halvings(values) for values in space.values())


def next_values(values: Interval | Choice, tried: Mapping[Any, float]) -> list[float]:
    """The values to try after those tried; none if the best of them is tuned. ``tried``: their costs."""
    best = best_value(tried)
    if isinstance(values, Choice) or values.whole or tried[best] == math.inf:
        return []
    if values.log and best in (min(tried), max(tried)):
        place = round(math.log(best / values.low, _ratio(values))) + (1 if best == max(tried) else -1)
        return [rounded(values.low * _ratio(values) ** place)]
    return [_middle(values, *gap) for gap in _gaps(values, tried)]


def unfinished(key: str, values: Interval | Choice, tried: Mapping[Any, float], limit: int) -> str:
    """Why the best value may not be the best there is, where ``next_values`` were not tried."""
    name, best = key.rpartition(".")[2], best_value(tried)
    assert isinstance(values, Interval)
    if values.log and best in (min(tried), max(tried)):
        return f"its best {name} ({best:g}) is the {'highest' if best == max(tried) else 'lowest'} tried"
    low, high = _gaps(values, tried)[0]
    return f"no {name} between {low:g} and {high:g} was tried: the limit of {limit} points was reached"


def best_value(tried: Mapping[Any, float]) -> Any:
    """The value with the lowest cost. Of several numbers with the same cost, the middle one, away from the ends."""
    lowest = min(tried.values())
    tied = [value for value, cost in tried.items() if cost == lowest]
    if len(tied) == 1 or not all(isinstance(value, int | float) for value in tried):
        return tied[0]
    ranks = {value: rank for rank, value in enumerate(sorted(tried))}
    ends = ranks[min(tied)] + ranks[max(tied)]
    return min(tied, key=lambda value: (abs(2 * ranks[value] - ends), abs(2 * ranks[value] - len(tried) + 1), value))


def _gaps(interval: Interval, tried: Mapping[Any, float]) -> list[tuple[float, float]]:
    """The wide gaps beside the best value, the one beside the better neighbour first."""
    ordered = sorted(tried)
    place = ordered.index(best_value(tried))
    beside = [(ordered[i], ordered[i + 1]) for i in (place - 1, place) if 0 <= i < len(ordered) - 1]
    return sorted((gap for gap in beside if _wide(interval, *gap)), key=lambda gap: tried[gap[0]] + tried[gap[1]])


def _wide(interval: Interval, low: float, high: float) -> bool:
    if interval.log:
        return high / low > CLOSE * SLACK
    return high - low > (interval.high - interval.low) / (FIRST - 1) / 2 * SLACK


def _middle(interval: Interval, low: float, high: float) -> float:
    return rounded(math.sqrt(low * high) if interval.log else (low + high) / 2)


def _ratio(interval: Interval) -> float:
    """Of two neighbours among the first values."""
    return (interval.high / interval.low) ** (1 / (FIRST - 1))


def _halvings(values: Interval | Choice) -> int:
    """How often a gap between two of the first values is halved."""
    if isinstance(values, Choice) or values.whole:
        return 0
    if not values.log:
        return 1
    return max(0, math.ceil(math.log2(math.log(_ratio(values)) / math.log(CLOSE * SLACK))))
