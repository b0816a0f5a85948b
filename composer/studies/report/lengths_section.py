"""Quality by the length of the test examples, and quality and cost where the runs differ in the length of sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from composer.studies.comparison import Arm, Comparison

#: The key of a config that sets the length of the sequences of a generated task.
KEY = "data.length"


def by_length_of(comparison: Comparison) -> dict[str, Any] | None:
    """The curves of the arms over the lengths of the test examples, and the lengths of training where all arms had the
    same; None without curves."""
    if not comparison.by_length:
        return None
    places = {arm.name: place for place, arm in enumerate(comparison.arms)}
    trained = {curve.trained for curve in comparison.by_length}
    return {
        "trained": trained.pop() if len(trained) == 1 else None,
        "curves": [{"arm": places[curve.arm], "points": curve.points} for curve in comparison.by_length],
    }


def lengths_of(arms: Sequence[Arm]) -> list[dict[str, Any]] | None:
    """The arms in series of one architecture at several lengths; None if there is no such series.

    The arms of a series have the same overrides but for the length, and for what was tuned at each length.
    """
    series: dict[str, dict[float, int]] = {}
    for index, arm in enumerate(arms):
        length = _length(arm)
        if length is not None:
            series.setdefault(_without_length(arm), {})[length] = index
    found = [
        {"name": name, "points": [{"length": length, "arm": own[length]} for length in sorted(own)]}
        for name, own in series.items()
        if len(own) > 1
    ]
    return found or None


def _length(arm: Arm) -> float | None:
    data: Mapping[str, Any] = arm.runs[0].config.get("data") or {} if arm.runs else {}
    length = data.get("length")
    return length if isinstance(length, int | float) and not isinstance(length, bool) else None


def _without_length(arm: Arm) -> str:
    varied = {KEY, *arm.runs[0].record.parameters}
    rest = [override for override in arm.overrides if override.partition("=")[0] not in varied]
    return ", ".join(override.partition("=")[2] if len(rest) == 1 else override for override in rest) or "all"
