"""Rows of a mixture: which row of which source each is, a pure function of its number; rows of several as one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from composer.core.signals import Signal, Timed


class Shares(NamedTuple):
    """The rows of an epoch of training: first those of the first source, then those of the next.

    sizes: the number of rows of each source
    counts: the number of rows that an epoch takes from each source
    """

    sizes: tuple[int, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], weights: Sequence[float] | None) -> Shares:
        """An epoch of as many rows as all sources have together, divided by the weights (largest remainders).

        Every source has at least one row. Without weights, an epoch has every row once.
        """
        if weights is None:
            return cls(tuple(sizes), tuple(sizes))
        total = sum(sizes)
        exact = [total * weight / sum(weights) for weight in weights]
        counts = [int(share) for share in exact]
        by_remainder = sorted(range(len(exact)), key=lambda i: (counts[i] - exact[i], i))
        for i in by_remainder[: total - sum(counts)]:
            counts[i] += 1
        return cls(tuple(sizes), tuple(max(count, 1) for count in counts))

    @property
    def total(self) -> int:
        """The number of rows of an epoch."""
        return sum(self.counts)

    def find(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """For rows of a mixture, (B,), the number of their source and the number of their row there.

        Row ``epoch * total + i`` is row i of an epoch. A source is read round and round: an epoch begins where the
        epoch before it stopped, so that at any time all rows of a source have come equally often, or once more.
        """
        counts, sizes = torch.tensor(self.counts), torch.tensor(self.sizes)
        ends = counts.cumsum(0)
        total = max(self.total, 1)  # an empty split has no rows to find
        epoch, place = rows.div(total, rounding_mode="floor"), rows % total
        source = torch.searchsorted(ends, place, right=True)
        inside = place - (ends - counts)[source]
        return source, (epoch * counts[source] + inside) % sizes[source]


def joined(signals: Sequence[Signal], order: Tensor) -> Signal:
    """The rows of signals of one kind, padded to the longest of them.

    order: (B,), for every row of the result its number among the rows of all signals, one signal after the other
    """
    first = signals[0]
    if not isinstance(first, Timed):
        return replace(first, values=torch.cat([signal.values for signal in signals]).index_select(0, order))
    timed = [signal for signal in signals if isinstance(signal, Timed)]
    assert len(timed) == len(signals), "a field has one kind in all sources"
    time = max(signal.time for signal in timed)
    values = torch.cat([_padded(signal.values, time) for signal in timed]).index_select(0, order)
    lengths = torch.cat([signal.counts for signal in timed]).index_select(0, order)
    return replace(first, values=values, lengths=None if bool((lengths == time).all()) else lengths)


def _padded(values: Tensor, time: int) -> Tensor:
    """(B, time, ...), with zeros in the new steps."""
    B, have, *width = values.shape
    return values if have == time else torch.cat([values, values.new_zeros(B, time - have, *width)], dim=1)
