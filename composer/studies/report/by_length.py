"""Quality by the length of the test examples: a curve for every arm."""

from __future__ import annotations

from typing import Any

from composer.studies.comparison import Comparison
from composer.studies.findings.over_examples import LengthPoint
from composer.studies.report.numbers import estimate_data


def by_length_of(comparison: Comparison) -> dict[str, Any] | None:
    """The curves of the arms, and the lengths of training where all arms had the same; None without curves."""
    if not comparison.by_length:
        return None
    places = {arm.name: place for place, arm in enumerate(comparison.arms)}
    trained = {curve.trained for curve in comparison.by_length}
    return {
        "trained": list(trained.pop()) if len(trained) == 1 else None,
        "curves": [
            {"arm": places[curve.arm], "points": [_point(point) for point in curve.points]}
            for curve in comparison.by_length
        ],
    }


def _point(point: LengthPoint) -> dict[str, Any]:
    return {"low": point.low, "high": point.high, "count": point.count, "quality": estimate_data(point.quality)}
