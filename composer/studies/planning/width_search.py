"""The width at which a model has a wanted size.

The size grows with the width, so widths that are too small and too large close in on the answer. A guess between them
follows a power law through two known sizes, which needs four or five compilations where bisection needs ten.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from composer.core.problems import UserError

#: The largest width that is tried.
LARGEST = 1 << 16

#: After this many sizes the guesses are no good, and the interval is bisected.
GUESSES = 8

#: Widths are never restricted to multiples of more than this.
COARSEST = 1 << 12


class WidthRefused(Exception):
    """The model does not exist at this width, for example because its heads do not divide the width.

    factor: a number that may have to divide the width, such as the number of heads
    reason: the error that the compiler raised
    """

    def __init__(self, factor: int, reason: UserError) -> None:
        super().__init__(factor)
        self.factor, self.reason = factor, reason


def find_width(size: Callable[[int], float], target: float, start: int) -> dict[int, float]:
    """The sizes that were computed, by width; the one nearest to the target is the nearest of all widths.

    size: the size at a width, non-decreasing; raises a ``WidthRefused`` where the model does not exist. The widths at
        which it exists are taken to be the multiples of one number, which is found from the refusals
    start: the first width that is tried
    """
    sizes: dict[int, float] = {}
    unit = 1
    width: int | None = start
    while width is not None:
        try:
            sizes[width] = size(width)
        except WidthRefused as refused:
            unit = coarser(unit, width, refused)
        width = next_width(sizes, target, unit, start)
    return sizes


def coarser(unit: int, width: int, refused: WidthRefused) -> int:
    """A multiple of the unit that does not divide the refused width."""
    unit = math.lcm(unit, max(refused.factor, 1))
    while width % unit == 0:
        unit *= 2  # as for heads whose widths have to be even
    if unit > COARSEST:
        raise refused.reason
    return unit


def next_width(sizes: dict[int, float], target: float, unit: int, start: int) -> int | None:
    """A multiple of the unit between the widths known to be too small and those known to be too large; None if none."""
    below = max((width for width, size in sizes.items() if size <= target), default=0)
    above = min((width for width, size in sizes.items() if size > target), default=LARGEST + 1)
    lowest, highest = (below // unit + 1) * unit, (above - 1) // unit * unit
    if lowest > highest or sizes.get(below) == target:
        return None
    guess = guessed(sizes, target, start) if len(sizes) < GUESSES else (lowest + highest) / 2
    return min(max(round(guess / unit) * unit, lowest), highest)


def guessed(sizes: dict[int, float], target: float, start: int) -> float:
    """The width of the target on the power law through the two known sizes that are nearest to it."""
    positive = (width for width, size in sizes.items() if size > 0)
    known = sorted(positive, key=lambda width: abs(math.log(sizes[width] / target)))
    if not known:
        return start
    near, exponent = known[0], 2.0  # most weights are matrices, whose sizes grow with the square of the width
    if len(known) > 1:
        ratio = math.log(sizes[known[1]] / sizes[near]) / math.log(known[1] / near)
        exponent = min(max(ratio, 0.2), 4.0)
    return near * (target / sizes[near]) ** (1 / exponent)
