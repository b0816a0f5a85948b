"""Statistics over seeds: confidence intervals, the two tests of a verdict, and the seeds that a difference needs.

The tests are those of ``scipy.stats.ttest_rel`` and ``ttest_ind``, with distributions from ``scipy.special``:
``scipy.stats`` takes a second to import, and a verdict needs the spread and the degrees of freedom of other numbers of
seeds, too. SciPy has no correction by Holm's method.
"""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from composer.studies.statistics.distributions import critical_range, critical_t, exceeding, root, two_sided_p

#: A corrected p-value below this level distinguishes two arms. Intervals have the confidence 1 - LEVEL.
LEVEL = 0.05

#: The probability with which ``seeds_needed`` seeds would find the difference.
POWER = 0.8

#: The most seeds that ``seeds_needed`` considers.
MOST_SEEDS = 1000

#: The confidence of the interval of the seeds needed.
SEEDS_CONFIDENCE = 0.8

#: A spread below this share of the values is an error of rounding, and counts as none.
NOISE = 1e-12


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

    p: before any correction; None if there are too few samples for a test, or if they have no spread
    spread: standard deviation of the difference for one seed; with n seeds, the standard error is spread / sqrt(n);
        0 if all samples agree, None if there are too few to tell
    seeds: the n of this standard error; not a whole number where the arms have different numbers of seeds
    freedom: degrees of freedom; with n seeds, they are n - 1 times ``freedom_per_seed``
    paired: whether the samples of the same seed were subtracted from each other
    """

    difference: Estimate
    p: float | None
    spread: float | None
    seeds: float
    freedom: float
    freedom_per_seed: float
    paired: bool

    @property
    def t(self) -> float:
        return self.difference.mean / (self.spread or math.nan) * math.sqrt(self.seeds)


@dataclass(frozen=True)
class Hurdle:
    """A t-test that a difference has to pass for a verdict.

    t: the statistic that was seen, without its sign
    limit: the statistic that passes, by the degrees of freedom
    """

    t: float
    seeds: float
    freedom: float
    freedom_per_seed: float
    limit: Callable[[float], float]

    def power(self, effect: float, seeds: int) -> float:
        """The probability to pass with this many seeds, if the true difference is ``effect`` times the one seen."""
        freedom = (seeds - 1) * self.freedom_per_seed
        return exceeding(self.limit(freedom), effect * self.t * math.sqrt(seeds / self.seeds), freedom)


@dataclass(frozen=True)
class SeedsNeeded:
    """Seeds an arm, up to MOST_SEEDS; None means more.

    about: if the true difference is the one seen
    low, high: at the ends of the 80 % confidence interval of the true difference
    """

    about: int | None
    low: int | None
    high: int | None


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of the samples, with its interval if there are two or more; NaN without samples."""
    if not values:
        return Estimate((), math.nan, None)
    mean, half = statistics.fmean(values), None
    if len(values) > 1:
        half = critical_t(LEVEL, len(values) - 1) * math.sqrt(_variance(values) / len(values))
    return Estimate(tuple(values), mean, half)


def paired_test(first: Sequence[float], second: Sequence[float]) -> TTest:
    """The t-test of ``first`` minus ``second``, which hold the samples of the same seeds in the same order."""
    differences = [a - b for a, b in zip(first, second, strict=True)]
    difference, seeds = estimate(differences), len(differences)
    if seeds < 2:
        return TTest(difference, None, None, seeds, 0, 1.0, paired=True)
    spread = _above_noise(math.sqrt(_variance(differences)), [*first, *second])
    if not spread:
        return TTest(_constant(difference, [*first, *second]), None, 0.0, seeds, seeds - 1, 1.0, paired=True)
    p = two_sided_p(difference.mean / spread * math.sqrt(seeds), seeds - 1)
    return TTest(difference, p, spread, seeds, seeds - 1, 1.0, paired=True)


def welch_test(first: Sequence[float], second: Sequence[float]) -> TTest:
    """Welch's t-test of ``first`` minus ``second``: independent samples, whose variances may differ."""
    mean = statistics.fmean(first) - statistics.fmean(second)
    if min(len(first), len(second)) < 2:
        return TTest(Estimate((), mean, None), None, None, 1, 0, 1.0, paired=False)
    variances = [_variance(values) for values in (first, second)]
    spread = _above_noise(math.sqrt(sum(variances)), [*first, *second])
    if not spread:
        constant = _constant(Estimate((), mean, None), [*first, *second])
        return TTest(constant, None, 0.0, 1, 0, 1.0, paired=False)
    errors = [variance / len(values) for variance, values in zip(variances, (first, second), strict=True)]
    error = math.sqrt(sum(errors))
    sizes = (len(first) - 1, len(second) - 1)
    freedom = sum(errors) ** 2 / sum(e * e / size for e, size in zip(errors, sizes, strict=True))
    difference = Estimate((), mean, critical_t(LEVEL, freedom) * error)
    freedom_per_seed = sum(variances) ** 2 / sum(variance * variance for variance in variances)
    p = two_sided_p(mean / error, freedom)
    return TTest(difference, p, spread, (spread / error) ** 2, freedom, freedom_per_seed, paired=False)


def pooled_spread(table: Sequence[Sequence[float]]) -> float:
    """The standard deviation of the difference between two arms for one seed, taken to be the same for all pairs.

    ``table`` has a row an arm, whose samples are those of the same seeds in the same order. What a seed adds to all
    arms alike is taken out. The degrees of freedom are (arms - 1) (seeds - 1).
    """
    values = np.asarray(table)
    residuals = values - values.mean(1, keepdims=True) - values.mean(0) + values.mean()
    freedom = (values.shape[0] - 1) * (values.shape[1] - 1)
    return _above_noise(math.sqrt(2 * float((residuals**2).sum()) / freedom), values.ravel().tolist())


def holm(p_values: Sequence[float], first: int) -> list[float]:
    """Holm's step-down correction: the smallest p-value times ``first``, the next times ``first`` - 1, and so on."""
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (first - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def seeds_needed(hurdles: Sequence[Hurdle]) -> SeedsNeeded:
    """The fewest seeds an arm with which the difference would pass each of these tests with a power of 80 %.

    The true difference is known from few seeds, so that the number is given with its interval: that of the
    noncentrality of the first test's statistic.
    """
    first, tail = hurdles[0], (1 - SEEDS_CONFIDENCE) / 2
    if first.t == 0:
        return SeedsNeeded(None, None, None)

    def fewest(effect: float) -> int | None:
        if effect <= 0:
            return None
        numbers = range(2, MOST_SEEDS + 1)
        index = bisect_left(numbers, POWER, key=lambda seeds: min(test.power(effect, seeds) for test in hurdles))
        return numbers[index] if index < len(numbers) else None

    def effect(share: float) -> float:
        """The true difference, in units of the one seen, of which this share of all results lies above the one seen."""
        if exceeding(first.t, 0.0, first.freedom) >= share:  # it is not above zero
            return 0.0
        return root(lambda shift: -exceeding(first.t, shift, first.freedom), -share) / first.t

    return SeedsNeeded(fewest(1.0), fewest(effect(1 - tail)), fewest(effect(tail)))


def own_limit(level: float) -> Callable[[float], float]:
    """The limit of a two-sided t-test of this level."""
    return lambda freedom: critical_t(level, freedom)


def range_limit(arms: int, level: float) -> Callable[[float], float]:
    """The limit of Tukey's test of this level, for the difference of two arms divided by its standard error."""
    return lambda freedom: critical_range(level, arms, freedom) / math.sqrt(2)


def _variance(values: Sequence[float]) -> float:
    mean = statistics.fmean(values)
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _constant(difference: Estimate, values: Sequence[float]) -> Estimate:
    """A difference that is the same in all seeds, without errors of rounding."""
    return Estimate(difference.values, math.copysign(_above_noise(abs(difference.mean), values), difference.mean), 0.0)


def _above_noise(spread: float, values: Sequence[float]) -> float:
    """The spread or size, or 0 if rounding alone may have made it."""
    return spread if spread > NOISE * max(map(abs, values)) else 0.0
