"""What a ladder shows: the law of each family, where two of them cross, and whether the largest size was foreseen.

The largest of five or more sizes is held out of the fits and predicted by them. Only results of finished runs are
fitted: under a schedule that lowers the rate, an earlier point of a run is not what a shorter run would have reached.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Any

from composer.graph.describe import human
from composer.metrics import LOSS
from composer.studies.json_data import plain
from composer.studies.planning.ladder import LEAST_LENGTHS, RUNG
from composer.studies.records.arms import Arm
from composer.studies.statistics.power_law import (
    LEAST_FOR_OFFSET,
    LEAST_SIZES,
    Crossing,
    Fit,
    Point,
    Scaling,
    crossing,
    fit,
    fit_with_tokens,
)

Interval = tuple[float, float]


@dataclass(frozen=True)
class Family:
    """An architecture at several sizes.

    points: those of the longest training, by size, to which the laws are fitted
    held_out: the largest size, which is not fitted; None where too few sizes would be left
    laws: None with too few sizes
    all_points: those of all lengths of training, without the held-out size
    with_tokens: the law of size and tokens; None unless the lengths of training vary
    """

    name: str
    points: tuple[Point, ...]
    held_out: Point | None
    laws: Scaling | None
    all_points: tuple[Point, ...]
    with_tokens: Fit | None

    def foreseen(self) -> tuple[float, Interval | None] | None:
        """The loss that the law predicts for the held-out size, and the interval for the mean of its seeds."""
        if self.held_out is None or self.laws is None:
            return None
        return self.laws.curve.predicted(self.held_out.size, len(self.held_out.losses))


@dataclass(frozen=True)
class Ladders:
    """All families of a comparison.

    metric: a loss
    crossings: of every two families with laws, by their names
    ends: the smallest and the largest size at which all families with laws were fitted
    """

    metric: str
    families: tuple[Family, ...]
    crossings: tuple[tuple[str, str, Crossing], ...]
    ends: tuple[float, float]

    @property
    def sentences(self) -> list[str]:
        found = [sentence for family in self.families for sentence in (_law(family), _foreseen(family)) if sentence]
        return [*found, *(_crossing(*each, self.ends) for each in self.crossings)]


def ladders_of(arms: Sequence[Arm], judged: str, direction: str) -> Ladders | None:
    """None unless the arms are those of a ladder. Where a score judges the runs, their loss on its split is fitted."""
    split = judged.partition("/")[0]
    metric = judged if direction == "min" else f"{split}/{LOSS}"
    named: dict[str, list[Arm]] = {}
    for arm in arms:
        match = RUNG.fullmatch(arm.name)
        if match is not None and arm.measured(metric) and all(run.result[metric] > 0 for run in arm.runs):
            named.setdefault(match["family"], []).append(arm)
    if not named:
        return None
    families = [_family(name, own, metric) for name, own in sorted(named.items())]
    fitted = [(family, family.laws.curve) for family in families if family.laws is not None]
    smallest = max((family.points[0].size for family, _ in fitted), default=1.0)
    largest = min((family.points[-1].size for family, _ in fitted), default=1.0)
    crossings = [
        (first.name, second.name, crossing(own, other, (smallest, largest)))
        for (first, own), (second, other) in combinations(fitted, 2)
    ]
    return Ladders(metric, tuple(families), tuple(crossings), (smallest, largest))


def _family(name: str, arms: Sequence[Arm], metric: str) -> Family:
    points = sorted((_point(arm, metric) for arm in arms), key=lambda point: (point.size, point.tokens))
    longest = [list(own)[-1] for _, own in groupby(points, key=lambda point: point.size)]
    held_out = longest.pop() if len(longest) > LEAST_FOR_OFFSET else None
    others = [point for point in points if held_out is None or point.size < held_out.size]
    lengths = {round(math.log(point.tokens), 3) for point in others}
    laws = fit(longest) if len(longest) >= LEAST_SIZES else None
    enough = laws is not None and len(lengths) >= LEAST_LENGTHS and len(others) >= LEAST_SIZES * LEAST_LENGTHS
    return Family(
        name, tuple(longest), held_out, laws, tuple(others), fit_with_tokens(others) if enough else None
    )  # fmt: skip


def _point(arm: Arm, metric: str) -> Point:
    sizes = [run.record.size.get("parameters", 0.0) for run in arm.runs]
    tokens = [float(run.record.last.get("tokens") or 1.0) for run in arm.runs]
    return Point(sum(sizes) / len(sizes), sum(tokens) / len(tokens), tuple(run.result[metric] for run in arm.runs))


def _law(family: Family) -> str:
    if family.laws is None:
        return f"{family.name}: no law is fitted to {len(family.points)} sizes; it takes {LEAST_SIZES}."
    found = family.laws.exponent_from
    text = (
        f"The loss of {family.name} falls as N^-{float(found.law.exponent):.2f}{_bounds(found, found.draws.exponent)}, "
        f"{human(family.points[0].size)} to {human(family.points[-1].size)} parameters"
    )
    if family.laws.shows_offset:
        text += f", to {float(found.law.offset):.3g}{_bounds(found, found.draws.offset, '.3g')}"
    elif family.laws.general is not None:
        text += ", with no irreducible loss in sight"
    text += "."
    if found.lacks_fit:
        text += " Its sizes deviate from the law by more than seeds explain, which the interval includes."
    if family.with_tokens is not None:
        law = family.with_tokens
        text += (
            f" With tokens D, E + A N^-a + B D^-b has a {float(law.law.exponent):.2f}"
            f"{_bounds(law, law.draws.exponent)} and b {float(law.law.data_exponent):.2f}"
            f"{_bounds(law, law.draws.data_exponent)}."
        )
    return text


def _foreseen(family: Family) -> str:
    found = family.foreseen()
    if found is None or family.held_out is None:
        return ""
    predicted, interval = found
    inside = interval is not None and interval[0] <= family.held_out.mean <= interval[1]
    bounds = f" [{interval[0]:.4g}, {interval[1]:.4g}]" if interval is not None else ""
    verdict = "" if interval is None else ", as foreseen" if inside else ", which the law did not foresee"
    return (
        f"At {human(family.held_out.size)}, held out of the fit, {family.name} was predicted {predicted:.4g}{bounds} "
        f"and has {family.held_out.mean:.4g}{verdict}."
    )


def _crossing(first: str, second: str, found: Crossing, ends: tuple[float, float]) -> str:
    names = (first, second)
    within = f"{human(ends[0])} to {human(ends[1])} parameters"
    bounds = f" [{_end(found.interval[0])}, {_end(found.interval[1])}]" if found.interval is not None else ""
    if found.size is not None and found.measured:
        return (
            f"{first} and {second} cross at {human(found.size)} parameters{bounds}: {names[found.lower_below]} has the "
            f"lower loss below, {names[found.lower_above]} above."
        )
    lower = names[found.lower_below]
    text = (
        f"{first} and {second} do not cross within the sizes fitted, {within}: {lower} has the lower loss throughout."
    )
    if found.size is not None:
        return f"{text} Extrapolated, the laws would cross at {human(found.size)}{bounds}."
    return text


def _end(size: float) -> str:
    return "none above" if size == math.inf else "none below" if size == 0 else human(size)


def _bounds(found: Fit, values: Any, form: str = ".2f") -> str:
    interval = found.interval(values)
    return f" [{interval[0]:{form}}, {interval[1]:{form}}]" if interval is not None else ""


def as_data(ladders: Ladders) -> dict[str, Any]:
    """The laws as plain data, for programs."""
    return plain(
        {
            "metric": ladders.metric,
            "families": [_family_data(family) for family in ladders.families],
            "crossings": [
                {
                    "families": [first, second],
                    "size": found.size,
                    "interval": found.interval,
                    "extrapolated": found.size is not None and not found.measured,
                    "lower_below": (first, second)[found.lower_below],
                    "lower_above": (first, second)[found.lower_above],
                }
                for first, second, found in ladders.crossings
            ],
            "sentences": ladders.sentences,
        }
    )


def _family_data(family: Family) -> dict[str, Any]:
    laws, foreseen = family.laws, family.foreseen()
    return {
        "name": family.name,
        "points": [_point_data(point) for point in family.points],
        "irreducible_loss_shown": laws.shows_offset if laws is not None else None,
        "plain": _fit_data(laws.plain if laws is not None else None),
        "general": _fit_data(laws.general if laws is not None else None),
        "with_tokens": _fit_data(family.with_tokens),
        "held_out": _point_data(family.held_out) if family.held_out is not None else None,
        "predicted": {"loss": foreseen[0], "interval": foreseen[1]} if foreseen is not None else None,
    }


def _point_data(point: Point) -> dict[str, Any]:
    return {"size": point.size, "tokens": point.tokens, "losses": point.losses, "mean": point.mean}


def _fit_data(found: Fit | None) -> dict[str, Any] | None:
    """The numbers of E + A N^-alpha + B D^-beta, each with its interval."""
    if found is None:
        return None
    names = {"E": "offset", "A": "scale", "alpha": "exponent", "B": "data_scale", "beta": "data_exponent"}
    numbers = {
        name: {"value": float(getattr(found.law, key)), "interval": found.interval(getattr(found.draws, key))}
        for name, key in names.items()
        if name not in ("B", "beta") or float(found.law.data_scale) > 0
    }
    return {**numbers, "noise": found.noise, "lacks_fit": found.lacks_fit}
