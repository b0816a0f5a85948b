"""Numbers and lists in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from composer.studies.statistics.over_seeds import Estimate

#: More decimals than this are written as powers of ten, as numbers from ``LARGE`` on are.
DECIMALS, LARGE = 6, 1e7

#: The possible values of a metric that says nothing about them.
ANY = (-math.inf, math.inf)


def with_interval(estimate: Estimate, decimals: int | None = None, possible: tuple[float, float] = ANY) -> str:
    """'0.231 ± 0.004', or where the interval leaves the possible values, '0.70 (0.12 to 1)'; '-' without a value.

    decimals: those of the table that the number stands in; None: those that show the interval to two digits
    """
    mean, half = estimate.mean, estimate.half
    if math.isnan(mean):
        return "-"
    if decimals is None:
        decimals = common_decimals([estimate])
    short = decimals is None or decimals > DECIMALS or max(abs(mean), half or 0.0) >= LARGE
    written = f"{mean:.4g}" if short else f"{mean:.{decimals}f}"
    if not half:  # one seed, or all seeds gave the same
        return written
    ends = cut(estimate, possible)
    if ends == (mean - half, mean + half):
        return f"{written} ± {half:.2g}" if short else f"{written} ± {half:.{decimals}f}"
    low, high = (f"{end:.4g}" if short or end in possible else f"{end:.{decimals}f}" for end in ends)
    return f"{written} ({low} to {high})"


def cut(estimate: Estimate, possible: tuple[float, float]) -> tuple[float, float]:
    """The ends of an interval, cut to the possible values; uncut where a seed itself has another value."""
    half = estimate.half or 0.0
    low, high = estimate.mean - half, estimate.mean + half
    if not all(possible[0] <= value <= possible[1] for value in (*estimate.values, estimate.mean)):
        return low, high
    return max(low, possible[0]), min(high, possible[1])


def common_decimals(estimates: Sequence[Estimate]) -> int | None:
    """The decimals of numbers that stand in one column: two digits of the interval in their middle, of two the
    geometric mean, and up to two more where different means would look the same or an interval like 0; None without
    intervals."""
    halves = [each.half for each in estimates if each.half]
    if not halves:
        return None
    decimals = max(0, 1 - math.floor(median(map(math.log10, halves))))
    means = {each.mean for each in estimates if math.isfinite(each.mean)}

    def tells(some: int) -> bool:
        different = len({f"{mean:.{some}f}" for mean in means}) == len(means)
        return different and all(float(f"{half:.{some}f}") for half in halves)

    return next((some for some in range(decimals, decimals + 3) if tells(some)), decimals)


def between(low: float, high: float) -> str:
    """'0.281 to 0.384': the ends of an interval, to two digits of half its width, and to more where an end would look
    like 0."""
    half = (high - low) / 2
    decimals = min(DECIMALS, max(0, 1 - math.floor(math.log10(half)))) if half > 0 else 4
    while decimals < DECIMALS and any(end and not float(f"{end:.{decimals}f}") for end in (low, high)):
        decimals += 1
    return f"{low:.{decimals}f} to {high:.{decimals}f}"


def metric_name(metric: str) -> str:
    """'valid/token_accuracy' -> 'validation token accuracy'."""
    return metric.replace("valid/", "validation ").replace("test/", "test ").replace("_", " ")


def count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def these(names: Sequence[str]) -> str:
    """'gru, lstm and attention'."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
