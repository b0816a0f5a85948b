"""Statistics over seeds: confidence intervals, t-tests, Holm's correction, and the seeds that a difference needs."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from composer.studies.student import critical_t, power, two_sided_p

#: A corrected p-value below this level distinguishes two arms. Intervals have the confidence 1 - LEVEL.
LEVEL = 0.05

#: The probability with which ``seeds_needed`` seeds would find the difference.
POWER = 0.8

#: The most seeds that ``seeds_needed`` considers.
MOST_SEEDS = 1000


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, with its 95 % confidence interval from Student's t distribution.

    values: the samples; empty for a difference of two arms that share no seeds
    half: half of the interval's width, the number after the ±; None if there are too few samples for an interval
    """

    values: tuple[float, ...]
    mean: float
    half: float | None


@dataclass(frozen=True)
class TTest:
    """A two-sided t-test of the difference between two arms.

    p: before any correction; None if there are too few samples for a test
    spread: standard deviation of the difference for one seed; with n seeds, the standard error is spread / sqrt(n)
    freedom_per_seed: the degrees of freedom with n seeds are (n - 1) times this
    paired: whether the samples of the same seed were subtracted from each other
    """

    difference: Estimate
    p: float | None
    spread: float
    freedom_per_seed: float
    paired: bool


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of one or more samples, with its interval if there are two or more."""
    mean = statistics.fmean(values)
    half = None
    if len(values) > 1:
        half = critical_t(LEVEL, len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return Estimate(tuple(values), mean, half)


def paired_test(first: Sequence[float], second: Sequence[float]) -> TTest:
    """The t-test of ``first`` minus ``second``, which hold the samples of the same seeds in the same order."""
    differences = [a - b for a, b in zip(first, second, strict=True)]
    difference = estimate(differences)
    if len(differences) < 2:
        return TTest(difference, None, 0.0, 1.0, paired=True)
    spread = statistics.stdev(differences)
    p = _p_value(difference.mean, spread / math.sqrt(len(differences)), len(differences) - 1)
    return TTest(difference, p, spread, 1.0, paired=True)


def welch_test(first: Sequence[float], second: Sequence[float]) -> TTest:
    """Welch's t-test of ``first`` minus ``second``: independent samples, whose variances may differ."""
    mean = statistics.fmean(first) - statistics.fmean(second)
    if min(len(first), len(second)) < 2:
        return TTest(Estimate((), mean, None), None, 0.0, 1.0, paired=False)
    variances = [statistics.variance(values) for values in (first, second)]
    errors = [variance / len(values) for variance, values in zip(variances, (first, second), strict=True)]
    error = math.sqrt(sum(errors))
    if error == 0:  # constant samples
        return TTest(Estimate((), mean, 0.0), _p_value(mean, 0.0, 1.0), 0.0, 1.0, paired=False)
    sizes = (len(first) - 1, len(second) - 1)
    freedom = sum(errors) ** 2 / sum(e * e / size for e, size in zip(errors, sizes, strict=True))
    difference = Estimate((), mean, critical_t(LEVEL, freedom) * error)
    freedom_per_seed = sum(variances) ** 2 / sum(variance * variance for variance in variances)
    p = _p_value(mean, error, freedom)
    return TTest(difference, p, math.sqrt(sum(variances)), freedom_per_seed, paired=False)


def _p_value(mean: float, error: float, freedom: float) -> float:
    if error == 0:  # constant samples: the difference is surely none, or surely there
        return 1.0 if mean == 0 else 0.0
    return two_sided_p(mean / error, freedom)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: the p-values, each adjusted for the number of comparisons."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def seeds_needed(test: TTest, comparisons: int = 1) -> int | None:
    """The fewest seeds an arm with which a difference of the size seen would be found with a power of 80 %.

    The level is LEVEL / comparisons, at which Holm's correction finds a difference whatever the other comparisons give.
    None if more than MOST_SEEDS seeds are needed, or if no difference was seen.
    """
    if test.spread == 0:
        return None

    def found(seeds: int) -> float:
        shift = abs(test.difference.mean) / test.spread * math.sqrt(seeds)
        return power(shift, (seeds - 1) * test.freedom_per_seed, LEVEL / comparisons)

    index = bisect_left(range(2, MOST_SEEDS + 1), POWER, key=found)
    return index + 2 if index + 2 <= MOST_SEEDS else None
