"""Student's t distribution and the studentised range, by the incomplete beta function and by sums over a grid.

A two-sided p-value of t with v degrees of freedom is I(v / (v + t^2); v/2, 1/2). SciPy has the same functions, but only
this room needs them, and they are short.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from math import erf, exp, lgamma, log, log1p, pi, sqrt

#: Points at which densities are summed. The integrands are smooth and end in zeros, so that few points are exact.
POINTS = 240

#: The largest range of normal samples that is told apart from an endless one, and the steps of its table.
WIDEST, RANGE_STEPS = 16.0, 1600


def two_sided_p(t: float, freedom: float) -> float:
    """The probability of a value at least as far from 0 as ``t``."""
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


@cache
def critical_t(level: float, freedom: float) -> float:
    """The positive t whose two-sided p-value is ``level``."""
    return root(lambda t: two_sided_p(t, freedom), level)


def range_p(q: float, groups: int, freedom: float) -> float:
    """The probability that the studentised range of ``groups`` equal means is at least ``q``: Tukey's test."""
    table = _ranges(groups)
    scale = RANGE_STEPS / WIDEST
    total = 0.0
    for s, weight in _spreads(freedom):
        place = q * s * scale
        index = int(place)
        if index < RANGE_STEPS:
            low = table[index]
            total += weight * (low + (place - index) * (table[index + 1] - low))
    return total


@cache
def critical_range(level: float, groups: int, freedom: float) -> float:
    """The studentised range whose p-value is ``level``."""
    return root(lambda q: range_p(q, groups, freedom), level)


def exceeding(limit: float, shift: float, freedom: float) -> float:
    """The probability that a t statistic exceeds ``limit`` where the true difference is ``shift`` standard errors.

    The statistic is (z + shift) / s, where z is normal and s^2 is chi-squared, divided by its degrees of freedom.
    """
    return sum(weight * normal_cdf(shift - limit * s) for s, weight in _spreads(freedom))


def root(falling: Callable[[float], float], level: float) -> float:
    """The positive number at which a falling function is ``level``, by the false position (the Illinois method)."""
    low, high = 0.0, 1.0
    above, below = falling(low) - level, falling(high) - level
    while below > 0:
        low, high, above = high, 2 * high, below
        below = falling(high) - level
    last = 0.0
    for _ in range(200):
        middle = (low * below - high * above) / (below - above)
        found = falling(middle) - level
        if abs(found) <= 1e-12 * abs(level):
            return middle
        if found > 0:
            low, above, below = middle, found, below / 2 if last > 0 else below
        else:
            high, below, above = middle, found, above / 2 if last < 0 else above
        last = found
    return high


def normal_cdf(z: float) -> float:
    return (1 + erf(z / sqrt(2))) / 2


@lru_cache(maxsize=256)
def _spreads(freedom: float) -> tuple[tuple[float, float], ...]:
    """Values of s with their probabilities, where s^2 is chi-squared, divided by its degrees of freedom.

    The values are even in log s, because few degrees of freedom put much of the probability near s = 0.
    """
    half, negligible = freedom / 2, 37.0  # exp(-37) is the precision of a float
    low, high = -max(negligible / freedom, sqrt(negligible / freedom)), log1p(10 / sqrt(2 * freedom))
    step = (high - low) / POINTS
    top = log(2 * step) + half * log(half) - lgamma(half)
    logs = [low + i * step for i in range(POINTS + 1)]
    return tuple((exp(x), exp(top + freedom * x - half * exp(2 * x))) for x in logs)


@cache
def _ranges(groups: int) -> tuple[float, ...]:
    """The probabilities that the range of ``groups`` normal samples exceeds 0, ..., WIDEST.

    The lowest sample is z with the density g phi(z), and the others lie within w above it.
    """
    scale, stride = RANGE_STEPS / WIDEST, 10
    below = [normal_cdf((i - RANGE_STEPS) / scale) for i in range(3 * RANGE_STEPS + 1)]
    lowest = [  # a sum over z = -8, ..., 8, at every tenth step of the table
        (i, groups * stride / scale * exp(-(((i - RANGE_STEPS) / scale) ** 2) / 2) / sqrt(2 * pi))
        for i in range(RANGE_STEPS // 2, 3 * RANGE_STEPS // 2 + 1, stride)
    ]
    within = [sum(c * (below[i + w] - below[i]) ** (groups - 1) for i, c in lowest) for w in range(RANGE_STEPS + 1)]
    return tuple(max(0.0, 1 - share) for share in within)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I(x; a, b), for 0 <= x <= 1."""
    if x in (0.0, 1.0):
        return x
    if x > (a + 1) / (a + b + 2):  # the continued fraction converges fast below this point only
        return 1 - incomplete_beta(b, a, 1 - x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x)) / a
    return front / _continued_fraction(a, b, x)


def _continued_fraction(a: float, b: float, x: float) -> float:
    """1 + d1 / (1 + d2 / (1 + ...)), by Lentz's method: DLMF 8.17.22."""
    value = numerator = 1.0
    denominator = 0.0
    for j in range(1, 10_000):
        m = j // 2
        if j % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        denominator = 1 / (1 + term * denominator)
        numerator = 1 + term / numerator
        value *= numerator * denominator
        if abs(numerator * denominator - 1) < 1e-15:
            break
    return value
