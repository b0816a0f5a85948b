"""Student's t distribution, by the regularised incomplete beta function.

A two-sided p-value of t with v degrees of freedom is I(v / (v + t^2); v/2, 1/2). SciPy has the same functions, but only
this room needs them, and they are short.
"""

from __future__ import annotations

from functools import cache
from math import erf, exp, lgamma, log, sqrt

#: Points at which the power of a test is integrated.
POINTS = 1000


def two_sided_p(t: float, freedom: float) -> float:
    """The probability of a value at least as far from 0 as ``t``."""
    return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


@cache
def critical_t(level: float, freedom: float) -> float:
    """The positive t whose two-sided p-value is ``level``, by bisection."""
    low, high = 0.0, 1.0
    while two_sided_p(high, freedom) > level:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:  # until no float lies between
        if two_sided_p(middle, freedom) > level:
            low = middle
        else:
            high = middle
    return high


def power(shift: float, freedom: float, level: float) -> float:
    """The probability that a two-sided t-test finds a difference of ``shift`` standard errors.

    The statistic is (z + shift) / s, where z is normal and s^2 is chi-squared, divided by its degrees of freedom.
    The probability given s is a normal one, and is integrated over the density of s.
    """
    limit, half, width = critical_t(level, freedom), freedom / 2, 10 / sqrt(2 * freedom)
    low, high = log(max(1e-6, 1 - width)), log(1 + width)  # s has a mean near 1 and a deviation near 1 / sqrt(2 v)
    step = (high - low) / POINTS
    total = 0.0
    for i in range(POINTS):  # over log s, because few degrees of freedom put most of the probability near s = 0
        log_s = low + (i + 0.5) * step
        s = exp(log_s)
        density = 2 * exp(half * log(half) - lgamma(half) + freedom * log_s - half * s * s)
        total += density * (normal_cdf(shift - limit * s) + normal_cdf(-shift - limit * s))
    return total * step


def normal_cdf(z: float) -> float:
    return (1 + erf(z / sqrt(2))) / 2


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
