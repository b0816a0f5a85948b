"""Numbers and lists in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from composer.studies.statistics.over_seeds import Estimate


def with_interval(estimate: Estimate) -> str:
    """'0.231 ± 0.004': the interval to two digits, and the mean to as many decimals; '-' without a value."""
    mean, half = estimate.mean, estimate.half
    if math.isnan(mean):
        return "-"
    if not half:  # one seed, or all seeds gave the same
        return f"{mean:.4g}"
    decimals = max(0, 1 - math.floor(math.log10(half)))
    if decimals > 6 or max(abs(mean), half) >= 1e7:
        return f"{mean:.4g} ± {half:.2g}"
    return f"{mean:.{decimals}f} ± {half:.{decimals}f}"


def metric_name(metric: str) -> str:
    """'valid/token_accuracy' -> 'validation token accuracy'."""
    return metric.replace("valid/", "validation ").replace("test/", "test ").replace("_", " ")


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def these(names: Sequence[str]) -> str:
    """'gru, lstm and attention'."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
