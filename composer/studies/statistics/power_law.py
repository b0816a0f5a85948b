"""Power laws of a loss, fitted to runs of several sizes: L(N) = E + A N^-alpha, without E, or with tokens, + B D^-beta.

For given exponents a law is linear in E, A and B, so that these follow from least squares in closed form, and the
exponents are searched on a grid. Residuals are relative to the loss, which is what residuals of its logarithm are to
first order, and E, A and B are not negative. Intervals come from fits to simulated data: the fitted law plus noise, the
variance of which is drawn from what the residuals leave open, so that few runs give wide intervals.

SciPy's ``curve_fit`` finds one law from a guess, and may stop beside the best one. The search here needs no guess, and
fits the hundreds of simulated data sets of an interval at once, in the time that ``curve_fit`` takes for some twenty.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import geometric_mean
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from composer.studies.statistics.over_seeds import LEVEL

Array = npt.NDArray[np.float64]

#: The terms of a law: E, A N^-alpha and B D^-beta.
Term = Literal["offset", "size", "tokens"]

#: The exponents that are searched, at most. An interval that ends at one of the bounds is open there.
EXPONENTS = (0.005, 3.0)

#: Points of the grid of one exponent and of each of two, and of the narrower grids that follow.
GRID, GRID_OF_TWO, NEAR = 128, 32, 9

#: The relative precision of the exponents of simulated data, which are many.
PRECISION = 1e-3

#: Rows of simulated data that are fitted at once, which bounds the memory.
ROWS = 64

#: Simulated data sets behind an interval.
DRAWS = 400

#: A crossing is looked for up to this factor beyond the sizes that were fitted.
REACH = 10

#: The fewest sizes to which a law is fitted, and to which one with an irreducible loss is.
LEAST_SIZES, LEAST_FOR_OFFSET = 3, 4


@dataclass(frozen=True)
class Point:
    """The runs of one size and length of training.

    losses: one a seed
    """

    size: float
    tokens: float
    losses: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The geometric mean, because noise is relative."""
        return geometric_mean(self.losses)


class Laws(NamedTuple):
    """One law or several: arrays of one shape, a value a law.

    offset: E, the loss that no size would remove; zero for a law without it
    data_scale, data_exponent: B and beta; zero for a law of the size alone
    """

    offset: Array
    scale: Array
    exponent: Array
    data_scale: Array
    data_exponent: Array

    def at(self, size: float | Array, tokens: float | Array = 1.0) -> Array:
        """The loss at a size, and after so many tokens where the law has them."""
        of_size = self.scale * np.asarray(size) ** -self.exponent
        return self.offset + of_size + self.data_scale * np.asarray(tokens) ** -self.data_exponent


@dataclass(frozen=True)
class Fit:
    """A law fitted to the runs of one family.

    draws: laws fitted to simulated data, for intervals
    noise: the relative standard deviation of a single run around the law
    drawn_noise: that of every simulated data set
    freedom: the degrees of freedom of the noise; 0 where nothing is left to estimate it from, and then no draw is there
    lacks_fit: whether the sizes deviate from the law by more than their seeds explain
    """

    law: Laws
    draws: Laws
    noise: float
    drawn_noise: Array
    freedom: int
    lacks_fit: bool

    def interval(self, values: Array) -> tuple[float, float] | None:
        """The 95 % interval of a number that was computed from every draw; None without draws."""
        if not self.freedom:
            return None
        low, high = np.quantile(values, [LEVEL / 2, 1 - LEVEL / 2], method="nearest")
        return float(low), float(high)

    def predicted(self, size: float, seeds: int) -> tuple[float, tuple[float, float] | None]:
        """The loss at a size that was not fitted, and the interval in which the mean of so many seeds should lie."""
        noise = np.random.default_rng(1).standard_normal(self.drawn_noise.shape) * self.drawn_noise / math.sqrt(seeds)
        return float(self.law.at(size)), self.interval(self.draws.at(size) * np.exp(noise))


@dataclass(frozen=True)
class Scaling:
    """The laws of the size that were fitted to one family.

    plain: A N^-alpha, whose exponent is the slope over the sizes that were fitted
    general: E + A N^-alpha; None with fewer than four sizes. With E = 0 it is the plain law
    shows_offset: whether the general law fits better at the 5 % level: the data show an irreducible loss
    """

    plain: Fit
    general: Fit | None
    shows_offset: bool

    @property
    def exponent_from(self) -> Fit:
        """The fit whose exponent the data support."""
        return self.general if self.general is not None and self.shows_offset else self.plain

    @property
    def curve(self) -> Fit:
        """The fit for predictions: the general one, because data that do not show E do not show its absence either."""
        return self.general or self.plain


def fit(points: Sequence[Point], draws: int = DRAWS) -> Scaling:
    """The laws of the size alone. There have to be three sizes or more, and four for an irreducible loss."""
    plain = _fit(points, ("size",), draws)
    if len({point.size for point in points}) < LEAST_FOR_OFFSET:
        return Scaling(plain, None, shows_offset=False)
    general = _fit(points, ("offset", "size"), draws)
    gain = _squares(points, plain.law) - _squares(points, general.law)
    exact = not general.freedom or not general.noise
    shown = gain > 0 if exact else _exceeds(gain / general.noise**2, 1, general.freedom)
    return Scaling(plain, general if shown else _fit(points, ("offset", "size"), draws, like=plain), shown)


def fit_with_tokens(points: Sequence[Point], draws: int = DRAWS) -> Fit:
    """The law of size and tokens: E + A N^-alpha + B D^-beta (Hoffmann et al., 2022)."""
    return _fit(points, ("offset", "size", "tokens"), draws)


@dataclass(frozen=True)
class Crossing:
    """Where two laws are equal.

    size: None if they do not cross between a tenth of the smallest and ten times the largest size
    interval: 0 and infinity are possible ends: no crossing on that side
    measured: whether the crossing is within the sizes that were fitted
    lower_below, lower_above: the number of the law, 0 or 1, that is lower at the smallest and at the largest size
    """

    size: float | None
    interval: tuple[float, float] | None
    measured: bool
    lower_below: int
    lower_above: int


def crossing(first: Fit, second: Fit, sizes: tuple[float, float]) -> Crossing:
    """The crossing of two laws that is nearest to the middle of the sizes: the smallest and the largest fitted."""
    grid = np.geomspace(sizes[0] / REACH, sizes[1] * REACH, 801)
    found = _crossings(first.law, second.law, grid, sizes)[0]
    ends = [int(first.law.at(size) > second.law.at(size)) for size in sizes]
    size = float(found) if 0 < found < math.inf else None
    interval = None
    if first.freedom and second.freedom:
        count = min(len(first.draws.scale), len(second.draws.scale))
        own, other = (Laws(*(value[:count] for value in fit.draws)) for fit in (first, second))
        drawn = _crossings(own, other, grid, sizes, ends[0])
        interval = first.interval(drawn)
    return Crossing(size, interval, size is not None and sizes[0] <= size <= sizes[1], ends[0], ends[1])


def _crossings(first: Laws, second: Laws, grid: Array, sizes: tuple[float, float], below: int | None = None) -> Array:
    """A crossing of each pair of laws: infinity, or 0, where law ``below`` is lower, or higher, at all of the sizes."""
    own, other = (Laws(*(np.atleast_1d(value)[:, None] for value in laws)).at(grid) for laws in (first, second))
    difference = np.log(own) - np.log(other)  # (laws, sizes)
    changes = np.signbit(difference[:, 1:]) != np.signbit(difference[:, :-1])
    middle = math.log(math.sqrt(sizes[0] * sizes[1]))
    steps = np.log(grid)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = difference[:, :-1] / (difference[:, :-1] - difference[:, 1:])
    places = steps[:-1] + np.clip(np.nan_to_num(share), 0, 1) * np.diff(steps)
    distance = np.where(changes, abs(places - middle), np.inf)
    nearest = distance.argmin(axis=1)
    rows = np.arange(len(difference))
    lower = (difference[:, len(grid) // 2] > 0).astype(int)  # which law is lower where there is no crossing
    none = np.where(lower == (lower if below is None else below), np.inf, 0.0)
    return np.where(changes.any(axis=1), np.exp(places[rows, nearest]), none)


def _fit(points: Sequence[Point], terms: tuple[Term, ...], draws: int, like: Fit | None = None) -> Fit:
    """The fit of a law. like: another fit to the same points, whose noise is taken for this one's."""
    means = np.array([[point.mean for point in points]])
    law = Laws(*(value[0] for value in _search(points, terms, means, 1e-7)))
    free = len(terms) + _exponents(terms)
    pure = math.fsum((math.log(loss) - math.log(point.mean)) ** 2 for point in points for loss in point.losses)
    of_seeds, of_sizes = sum(len(point.losses) - 1 for point in points), max(0, len(points) - free)
    lack = _squares(points, law)
    freedom, squares = of_seeds + of_sizes, pure + lack
    lacks_fit = bool(of_seeds and of_sizes and pure) and _exceeds(
        (lack / max(1, of_sizes)) / (pure / max(1, of_seeds)), of_sizes, of_seeds
    )
    if lacks_fit:  # seeds of one size deviate together, so that they are no independent evidence
        freedom, squares = of_sizes, lack
    noise = math.sqrt(squares / freedom) if freedom else 0.0
    if like is not None:
        noise, freedom, lacks_fit = like.noise, like.freedom, like.lacks_fit
    random = np.random.default_rng(0)
    drawn = noise * np.sqrt(freedom / random.chisquare(freedom, draws)) if freedom else np.zeros(0)
    counts = np.sqrt([len(point.losses) for point in points])
    simulated = law.at(*_coordinates(points)) * np.exp(
        random.standard_normal((len(drawn), len(points))) * drawn[:, None] / counts
    )
    fitted = _search(points, terms, simulated, PRECISION)
    return Fit(law, fitted, noise, drawn, freedom, lacks_fit)


def _squares(points: Sequence[Point], law: Laws) -> float:
    """The squares of the logarithmic deviations of the sizes' means from a law, times their runs."""
    expected = law.at(*_coordinates(points))
    return math.fsum(
        len(point.losses) * math.log(point.mean / float(found)) ** 2
        for point, found in zip(points, expected, strict=True)
    )


def _coordinates(points: Sequence[Point]) -> tuple[Array, Array]:
    return np.array([point.size for point in points]), np.array([point.tokens for point in points])


def _search(points: Sequence[Point], terms: tuple[Term, ...], losses: Array, precision: float) -> Laws:
    """The best law of every row of ``losses``, with exponents to a relative precision.

    A coarse grid of exponents is the same for all rows; then every row has a grid of its own around its best ones.

    losses: (rows, points)
    """
    if len(losses) > ROWS:
        parts = [_search(points, terms, losses[i : i + ROWS], precision) for i in range(0, len(losses), ROWS)]
        return Laws(*map(np.concatenate, zip(*parts, strict=True)))
    count = _exponents(terms)
    axis = np.linspace(math.log(EXPONENTS[0]), math.log(EXPONENTS[1]), GRID if count == 1 else GRID_OF_TWO)
    step = float(axis[1] - axis[0])
    grid = _mesh([axis] * count)[None]  # (1 or rows, exponents, 1 or 2)
    best, factors = _best(points, terms, losses, grid)
    while step > precision:
        near = np.linspace(-step, step, NEAR)
        best, factors = _best(points, terms, losses, best[:, None] + _mesh([near] * count))
        step = float(near[1] - near[0])
    return _laws(points, terms, factors, np.exp(best))


def _mesh(axes: Sequence[Array]) -> Array:
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)


def _best(points: Sequence[Point], terms: tuple[Term, ...], losses: Array, grids: Array) -> tuple[Array, Array]:
    """The logarithms of each row's best exponents, (rows, 1 or 2), and the factors of the terms, (rows, terms).

    grids: logarithms of exponents, (rows, exponents, 1 or 2); with one row, the same for all
    """
    weights = np.sqrt([len(point.losses) for point in points]) / np.array([point.mean for point in points])
    wanted, rows = losses * weights, np.arange(len(losses))
    design = _design(points, terms, np.exp(grids)) * weights[:, None]
    grids, design = (np.broadcast_to(each, (len(wanted), *each.shape[1:])) for each in (grids, design))
    least, best = np.full(len(wanted), np.inf), np.zeros((len(wanted), grids.shape[-1]))
    chosen = np.zeros((len(wanted), len(terms)))
    for kept in _subsets(terms):
        columns = design[..., kept]  # (rows, exponents, points, kept)
        gram = np.einsum("rgpk,rgpl->rgkl", columns, columns)
        factors = np.linalg.solve(gram, np.einsum("rgpk,rp->rgk", columns, wanted)[..., None])[..., 0]
        residuals = np.einsum("rgpk,rgk->rgp", columns, factors) - wanted[:, None]
        squares = np.where((factors >= 0).all(axis=-1), (residuals**2).sum(axis=-1), np.inf)
        lowest = squares.argmin(axis=1)
        better = squares[rows, lowest] < least
        full = np.zeros_like(chosen)
        full[:, kept] = factors[rows, lowest]
        chosen = np.where(better[:, None], full, chosen)
        best = np.where(better[:, None], grids[rows, lowest], best)
        least = np.minimum(least, squares[rows, lowest])
    return best, chosen


def _design(points: Sequence[Point], terms: tuple[Term, ...], exponents: Array) -> Array:
    """The columns of the terms, (rows, exponents, points, terms): ones, and powers of the values divided by their
    geometric mean, without which the columns would be of unlike lengths."""
    own = iter(np.moveaxis(exponents, -1, 0))
    ones = np.ones((*exponents.shape[:2], len(points)))
    values = {"size": [point.size for point in points], "tokens": [point.tokens for point in points]}
    powers = lambda numbers: (np.array(numbers) / geometric_mean(numbers)) ** -next(own)[..., None]  # noqa: E731
    return np.stack([ones if term == "offset" else powers(values[term]) for term in terms], axis=-1)


def _exponents(terms: tuple[Term, ...]) -> int:
    return len([term for term in terms if term != "offset"])


def _subsets(terms: tuple[Term, ...]) -> list[list[int]]:
    """The terms that may stay where others are zero: with all of them, the least squares that are not negative."""
    numbers = range(len(terms))
    return [list(kept) for count in range(len(terms), 0, -1) for kept in combinations(numbers, count)]


def _laws(points: Sequence[Point], terms: tuple[Term, ...], factors: Array, exponents: Array) -> Laws:
    """Laws in the units of the data, from the factors of columns that were divided by the geometric means."""
    zero = np.zeros(len(factors))
    factor = dict(zip(terms, factors.T, strict=True))
    alpha, beta = exponents[:, 0], exponents[:, 1] if "tokens" in terms else zero
    sizes, tokens = ([getattr(point, name) for point in points] for name in ("size", "tokens"))
    of_size, of_tokens = (
        factor["size"] * geometric_mean(sizes) ** alpha,
        factor.get("tokens", zero) * geometric_mean(tokens) ** beta,
    )
    return Laws(factor.get("offset", zero), of_size, alpha, of_tokens, beta)


def _exceeds(ratio: float, above: int, below: int) -> bool:
    """Whether a ratio of variances with these degrees of freedom is significant, by the F distribution."""
    from scipy.special import fdtrc

    return bool(fdtrc(above, below, max(0.0, ratio)) < LEVEL)
