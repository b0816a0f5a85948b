"""Loss against size: the measured sizes, the fitted law of every family with its band, crossings, the held-out size."""

from __future__ import annotations

from typing import Any

import numpy as np

from composer.studies.findings.scaling import Family, Ladders
from composer.studies.report.numbers import estimate_data, rounded
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
            {"name": f"{first} and {second}", "size": rounded(found.size), "measured": found.measured}
            for first, second, found in ladders.crossings
            if found.measured
        ],
    }


def _family(family: Family) -> dict[str, Any]:
    foreseen = family.foreseen()
    measured = [*family.points, *([family.held_out] if family.held_out is not None else [])]
    shorter = [point for point in family.all_points if point not in family.points]
    return {
        "name": family.name,
        "points": [_point(point, held_out=point is family.held_out) for point in measured],
        "shorter": [_point(point, held_out=False) for point in shorter],
        "predicted": None if foreseen is None else {
            "size": rounded(measured[-1].size), "loss": rounded(foreseen[0]),
            "low": rounded(foreseen[1][0]) if foreseen[1] is not None else None,
            "high": rounded(foreseen[1][1]) if foreseen[1] is not None else None,
        },
        "law": _law(family, measured),
    }  # fmt: skip


def _point(point: Point, *, held_out: bool) -> dict[str, Any]:
    loss = estimate_data(estimate(point.losses))
    return {"size": rounded(point.size), "tokens": rounded(point.tokens), "loss": loss, "held_out": held_out}


def _law(family: Family, measured: list[Point]) -> dict[str, Any] | None:
    """The drawn curve, from the smallest size to beyond the largest, and its band."""
    if family.laws is None:
        return None
    fit = family.laws.curve
    sizes = np.geomspace(measured[0].size / 1.2, measured[-1].size * 1.5, POINTS)
    low = high = None
    if fit.freedom:
        draws = fit.draws
        columns = (draws.offset, draws.scale, draws.exponent, draws.data_scale, draws.data_exponent)
        curves = Laws(*(column[:, None] for column in columns)).at(sizes)
        low, high = np.quantile(curves, [LEVEL / 2, 1 - LEVEL / 2], axis=0)
    return {
        "sizes": [rounded(float(size)) for size in sizes],
        "losses": [rounded(float(loss)) for loss in fit.law.at(sizes)],
        "low": None if low is None else [rounded(float(loss)) for loss in low],
        "high": None if high is None else [rounded(float(loss)) for loss in high],
    }
