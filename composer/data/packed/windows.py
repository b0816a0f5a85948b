"""Windows of long sequences as examples. Nothing is copied before a batch is made."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.data.packed.packed_rows import take


class Windows:
    """The windows of ``length`` steps, ``stride`` steps apart, in each of several stretches of a long row.

    starts, ends: the first step of every stretch, and the step after its last one; stretches may overlap
    short: whether the steps at the end of a stretch that do not fill a window are a shorter window
    to_end: whether the windows end with the last step of a stretch, instead of beginning with the first
    """

    def __init__(
        self, flat: Tensor, starts: Tensor, ends: Tensor, length: int, stride: int, *,
        short: bool = False, to_end: bool = False,
    ) -> None:  # fmt: skip
        self.flat, self.length, self.stride = flat, length, stride
        spare = ends - starts - length
        if to_end:
            starts = starts + spare.clamp(min=0).remainder(stride)
        counts = torch.where(spare >= 0, spare.div(stride, rounding_mode="floor") + 1, 0)
        if short:  # the first window that reaches past the end, if it has steps that the last full window has not
            left = ends - starts - torch.where(counts > 0, (counts - 1) * stride + length, 0)
            counts = counts + (left > 0).long()
        self._starts, self._ends = starts, ends
        self.firsts = torch.cat([torch.zeros(1, dtype=torch.long), counts.cumsum(0)])

    def __len__(self) -> int:
        return int(self.firsts[-1])

    def starts(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """The first step of each window in ``flat``, and the number of its steps."""
        held = torch.searchsorted(self.firsts, rows, right=True) - 1
        starts = self._starts[held] + (rows - self.firsts[held]) * self.stride
        return starts, (self._ends[held] - starts).clamp(max=self.length)

    def take(self, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """The windows, (B, T, ...), and their lengths, (B,), or None where all windows are equally long."""
        starts, lengths = self.starts(rows)
        time = int(lengths.max()) if len(rows) else 0
        if len(rows) and int(lengths.min()) == time:
            return take(self.flat, starts, None, time), None
        return take(self.flat, starts, lengths, time), lengths
