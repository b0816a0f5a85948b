"""The shape of a window, and what is read of the windows of a file: values, further input channels, weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from composer.data.packed.packed_rows import take
from composer.data.packed.windows import Windows
from composer.data.series.calendar import Feature, calendar
from composer.data.series.gaps import Stretches


@dataclass(frozen=True)
class WindowShape:
    """length: steps of the input
    horizon: steps to forecast after them; 0 where they are not known
    stride: steps from one window to the next
    ahead: the places of the channels to forecast
    """

    length: int
    horizon: int
    stride: int
    ahead: Sequence[int]

    @property
    def span(self) -> int:
        """The number of steps of a window."""
        return self.length + self.horizon

    def cut(self, steps: Stretches, starts: Tensor, ends: Tensor) -> Windows:
        """The windows of some pieces of a file. Where values were filled, at least one step of a target was measured.

        Windows of inputs alone end with the last step of a piece, from which a forecast is wanted.
        """
        windows = Windows(steps.values, starts, ends, self.span, self.stride, to_end=not self.horizon)
        if steps.measured is None or not self.horizon:
            return windows
        places, _ = windows.starts(torch.arange(len(windows)))
        whole = steps.measured[:, self.ahead].all(1).long()
        counts = torch.cat([torch.zeros(1, dtype=torch.long), whole.cumsum(0)])
        places = places[counts[places + self.span] > counts[places + self.length]]
        return Windows(steps.values, places, places + self.span, self.span, 1)

    def values(self, steps: Stretches, places: Tensor) -> Tensor:
        """(B, span, D), the windows that begin at these places.

        A value that is interpolated towards a step after the input would tell of the target, so that the last measured
        value stands there.
        """
        found = take(steps.values, places, None, self.span)
        if steps.between is not None and steps.measured is not None:
            measured = take(steps.measured, places, None, self.length)  # (B, length, D)
            later = measured.flip(1).cummax(1).values.flip(1) > 0
            between = take(steps.between, places, None, self.length)
            found[:, : self.length] = torch.where(later, between, found[:, : self.length])
        return found

    def further(self, steps: Stretches, places: Tensor, features: Sequence[Feature], *, mask: bool) -> Tensor:
        """(B, length, channels): calendar features, and with ``mask`` 1 where a step of the input was measured."""
        index = places[:, None] + torch.arange(self.length)
        parts = [calendar(steps.times[index], features)]
        if mask:
            whole = torch.ones_like(index) if steps.measured is None else steps.measured[index].all(-1)
            parts.append(whole[..., None].float())
        return torch.cat(parts, -1)

    def weights(self, measured: Tensor, places: Tensor) -> Tensor:
        """(B, horizon), 1 where all channels to forecast were measured, else 0."""
        index = places[:, None] + self.length + torch.arange(self.horizon)
        return measured[index][..., self.ahead].all(-1).float()
