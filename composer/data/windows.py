"""Stretches of one long recording, as examples: what is given, and what follows. Nothing is copied until a batch is."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.data.packed_rows import take


class Windows:
    """The windows of ``length`` steps, ``stride`` apart, in each of several long rows.

    Where a row ends before a window does, ``short`` says whether what is left is a window, too.
    """

    def __init__(self, flat: Tensor, offsets: Tensor, length: int, stride: int, *, short: bool = False) -> None:
        self.flat, self.length, self.stride, self.offsets = flat, length, stride, offsets
        sizes = offsets[1:] - offsets[:-1]
        spare = sizes - length
        counts = torch.where(spare >= 0, spare.div(stride, rounding_mode="floor") + 1, 0)
        if short:  # the first window that reaches past the end, if it has anything that the last one did not
            left = sizes - torch.where(counts > 0, (counts - 1) * stride + length, 0)
            counts = counts + (left > 0).long()
        self.firsts = torch.cat([torch.zeros(1, dtype=torch.long), counts.cumsum(0)])

    def __len__(self) -> int:
        return int(self.firsts[-1])

    def starts(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Where each window begins, and how many steps it has."""
        held = torch.searchsorted(self.firsts, rows, right=True) - 1
        starts = self.offsets[held] + (rows - self.firsts[held]) * self.stride
        return starts, (self.offsets[held + 1] - starts).clamp(max=self.length)

    def take(self, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """(B, T, ...) and its lengths; None where every window is full."""
        starts, lengths = self.starts(rows)
        time = int(lengths.max()) if len(rows) else 0
        if len(rows) and int(lengths.min()) == time:
            return take(self.flat, starts, None, time), None
        return take(self.flat, starts, lengths, time), lengths
