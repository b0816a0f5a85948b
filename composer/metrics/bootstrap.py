"""Bootstrap confidence intervals: a metric of resampled examples (Efron, 1979).

Independent examples are resampled one by one. Windows of a series or a text that overlap are not independent: one odd
stretch is in many of them. They are resampled in blocks of consecutive windows, which keeps the dependence within a
block (the circular block bootstrap of Politis and Romano, 1992).

An interval is that of the percentiles. Metrics such as macro F1 are biased: of a resample, which lacks some of the
examples, they differ on average from their value of all examples, which differs in the same direction from that of all
data. The percentiles have this bias twice, and may exclude the value. Where the value does not lie in the middle of the
resamples, the interval is therefore moved by its distance from their median. A test compares how often intervals
contain the true value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

#: The largest number of resampled rows in memory at a time.
HELD = 2**20

#: A block is so many times as long as the stretch of windows that share steps with a window, so that most pairs of
#: dependent windows are in one block.
LONGER = 2

#: The value of a metric without a bias lies in this share, the middle one, of the resamples in its interval: the values
#: of a resample are then about as often above as below.
MIDDLE = 0.25

#: The least number of blocks. With fewer, their resamples hardly differ.
BLOCKS = 5


@dataclass(frozen=True)
class Examples:
    """The examples of an evaluation, as far as resampling has to know them.

    size: the number of rows of their split
    overlap: the number of consecutive rows that share steps with a row, that row included; 1: rows are independent
    places: (N,), the row numbers of the examples in the order of their statistics; None where rows are independent
    """

    size: int = 0
    overlap: int = 1
    places: Tensor | None = None

    @property
    def block(self) -> int:
        """The number of rows in a block; 1: rows are resampled one by one."""
        if self.overlap <= 1 or self.places is None:
            return 1
        return max(1, min(LONGER * self.overlap, self.size // BLOCKS))

    @property
    def method(self) -> str:
        """How the examples are resampled, in a sentence."""
        if self.block == 1:
            return "Intervals are of a bootstrap of the examples."
        few = "" if self.block > self.overlap else (
            " There are too few windows for more than a handful of independent ones, so the true intervals are wider."
        )  # fmt: skip
        return (
            f"Intervals are of a bootstrap of blocks of {self.block:,} consecutive windows, because a window overlaps "
            f"with the {self.overlap - 1:,} after it.{few}"
        )

    def counts(self, rows: int, resamples: int, seed: int) -> Iterator[Tensor]:
        """How often each resample has each of the first ``rows`` examples, (R, rows), some resamples at a time."""
        generator = torch.Generator().manual_seed(seed)
        width = rows if self.block == 1 else self.size
        for start in range(0, resamples, chunk := max(1, HELD // width)):
            count = min(chunk, resamples - start)
            if self.block == 1:
                yield _times(torch.randint(rows, (count, rows), generator=generator), rows)
            else:
                assert self.places is not None
                yield self._of_blocks(count, generator).index_select(1, self.places[:rows])

    def _of_blocks(self, count: int, generator: torch.Generator) -> Tensor:
        """How often each of ``count`` resamples has each row, (R, size). A block may go on at the start."""
        size, block = self.size, self.block
        starts = _times(torch.randint(size, (count, -(-size // block)), generator=generator), size)
        before = torch.cat([starts.new_zeros(count, 1), starts[:, size - block + 1 :], starts], dim=1).cumsum(1)
        return before[:, block:] - before[:, :-block]


def interval_around(
    value: float, resampled: Tensor, confidence: float, possible: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[float, float]:
    """The interval of a metric, which contains its value, from its values in resamples, (R,); nan where there is none.

    possible: the values that the metric can have, to which the interval is cut
    """
    shares = torch.tensor([-1.0, -MIDDLE, 0.0, MIDDLE, 1.0], dtype=torch.float64) * confidence / 2 + 0.5
    low, below, median, above, high = resampled.nanquantile(shares).tolist()
    if not (math.isfinite(value) and math.isfinite(median)):
        return math.nan, math.nan
    if below <= value <= above:
        return low, high
    return max(value - (median - low), possible[0]), min(value + (high - median), possible[1])


def _times(drawn: Tensor, size: int) -> Tensor:
    """(R, size), how often each row of ``drawn`` has each number below ``size``."""
    once = torch.ones(drawn.shape, dtype=torch.float64)
    return torch.zeros(len(drawn), size, dtype=torch.float64).scatter_add_(1, drawn, once)
