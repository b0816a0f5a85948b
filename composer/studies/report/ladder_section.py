"""Loss against size: the measured sizes, the fitted law of every family with its band, crossings, the held-out size."""

from __future__ import annotations

from typing import Any

import numpy as np

from composer.studies.findings.scaling import Family, Ladders
from composer.studies.statistics.over_seeds import LEVEL, estimate
from composer.studies.statistics.power_law import Laws, Point

#: Points of a drawn law.
POINTS = 60


def ladder_of(ladders: Ladders | None) -> dict[str, Any] | None:
    if ladders is None:
        return None
    return {
        "metric": ladders.metric,
        "sentences": ladders.sentences,
        "families": [_family(family) for family in ladders.families],
        "crossings": [
            {"name": f"{first} and {second}", "size": found.size, "measured": found.measured}
            for first, second, found in ladders.crossings
            if found.measured
        ],
    }


def _family(family: Family) -> dict[str, Any]:
    foreseen, predicted = family.foreseen(), None
    measured = [*family.points, *([family.held_out] if family.held_out is not None else [])]
    if foreseen is not None:
        low, high = foreseen[1] or (None, None)
        predicted = {"size": measured[-1].size, "loss": foreseen[0], "low": low, "high": high}
    return {
        "name": family.name,
        "points": [_point(point, held_out=point is family.held_out) for point in measured],
        "shorter": [_point(point, held_out=False) for point in family.all_points if point not in family.points],
        "predicted": predicted,
        "law": _law(family, measured),
    }


def _point(point: Point, *, held_out: bool) -> dict[str, Any]:
    return {"size": point.size, "tokens": point.tokens, "loss": estimate(point.losses), "held_out": held_out}


def _law(family: Family, measured: list[Point]) -> dict[str, Any] | None:
    """The drawn curve, from the smallest size to beyond the largest, and its band."""
    if family.laws is None:
        return None
    fit = family.laws.curve
    sizes = np.geomspace(measured[0].size / 1.2, measured[-1].size * 1.5, POINTS)
    low = high = None
    if fit.freedom:
        curves = Laws(*(column[:, None] for column in fit.draws)).at(sizes)
        low, high = np.quantile(curves, [LEVEL / 2, 1 - LEVEL / 2], axis=0).tolist()
    return {"sizes": sizes.tolist(), "losses": fit.law.at(sizes).tolist(), "low": low, "high": high}
