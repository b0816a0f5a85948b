"""Student's t distribution, from SciPy, and two distributions that are sums over a table.

SciPy has the studentised range, too, but integrates it anew for every value, which takes a hundred times as long: a
verdict asks for many, and the simulations of benchmarks/verdicts for millions. Its noncentral t distribution is NaN, or
wrong in the second digit, where the difference is large and the degrees of freedom are few, as they are here. SciPy is
imported where it is used, because its import takes as long as a short command.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from math import lgamma, log, log1p, pi, sqrt

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: Points at which densities are summed. The integrands are smooth and end in zeros, so that few points are exact.
POINTS = 240

#: The largest range of normal samples that is told apart from an endless one, and the steps of its table.
WIDEST, RANGE_STEPS = 16.0, 1600


def two_sided_p(t: float, freedom: float) -> float:
    """The probability of a value at least as far from 0 as ``t``."""
    from scipy.special import stdtr

    return float(2 * stdtr(freedom, -abs(t)))


@cache
def critical_t(level: float, freedom: float) -> float:
    """The positive t whose two-sided p-value is ``level``."""
    from scipy.special import stdtrit

    return float(-stdtrit(freedom, level / 2))


def exceeding(limit: float, shift: float, freedom: float) -> float:
    """The probability that a t statistic exceeds ``limit`` where the true difference is ``shift`` standard errors.

    The statistic is (z + shift) / s, where z is normal and s^2 is chi-squared, divided by its degrees of freedom.
    """
    from scipy.special import ndtr

    values, weights = _spreads(freedom)
    return float(weights @ ndtr(shift - limit * values))


def root(falling: Callable[[float], float], level: float) -> float:
    """The positive number at which a falling function is ``level``."""
    from scipy.optimize import brentq

    high = 1.0
    while falling(high) > level:
        high *= 2
    return float(brentq(lambda x: falling(x) - level, 0.0, high, rtol=1e-12))


def range_p(q: float, groups: int, freedom: float) -> float:
    """The probability that the studentised range of ``groups`` equal means is at least ``q``: Tukey's test."""
    values, weights = _spreads(freedom)
    widths = np.linspace(0, WIDEST, RANGE_STEPS + 1)
    return float(weights @ np.interp(q * values, widths, _ranges(groups), right=0.0))


@cache
def critical_range(level: float, groups: int, freedom: float) -> float:
    """The studentised range whose p-value is ``level``."""
    return root(lambda q: range_p(q, groups, freedom), level)


@lru_cache(maxsize=256)
def _spreads(freedom: float) -> tuple[Array, Array]:
    """Values of s with their probabilities, where s^2 is chi-squared, divided by its degrees of freedom.

    The values are even in log s, because few degrees of freedom put much of the probability near s = 0.
    """
    half, negligible = freedom / 2, 37.0  # exp(-37) is the precision of a float
    low, high = -max(negligible / freedom, sqrt(negligible / freedom)), log1p(10 / sqrt(2 * freedom))
    logs = np.linspace(low, high, POINTS + 1)
    top = log(2 * (high - low) / POINTS) + half * log(half) - lgamma(half)
    return np.exp(logs), np.exp(top + freedom * logs - half * np.exp(2 * logs))


@cache
def _ranges(groups: int) -> Array:
    """The probabilities that the range of ``groups`` normal samples exceeds 0, ..., WIDEST.

    The lowest sample is z with the density g phi(z), and the others lie within w above it.
    """
    from scipy.special import ndtr

    step, stride = WIDEST / RANGE_STEPS, 10
    below = ndtr(step * np.arange(-RANGE_STEPS, 2 * RANGE_STEPS + 1))
    lowest = np.arange(RANGE_STEPS // 2, 3 * RANGE_STEPS // 2 + 1, stride)  # z = -8, ..., 8
    density = groups * stride * step * np.exp(-((step * (lowest - RANGE_STEPS)) ** 2) / 2) / sqrt(2 * pi)
    others = below[lowest[:, None] + np.arange(RANGE_STEPS + 1)] - below[lowest, None]  # (z, w)
    return np.maximum(0.0, 1 - density @ others ** (groups - 1))
