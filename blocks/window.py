"""Shared parts of blocks over a window of steps: zero padding, and the steps that the next chunk needs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from composer import Seq


def centred(values: Tensor, reach: int) -> Tensor:
    """(B, T + reach, D): zeros on both sides, for windows of reach + 1 steps around every step."""
    left = reach // 2
    return F.pad(values, (0, 0, left, reach - left))


def window_reach(window: int, causal: bool, time: int) -> int:
    """The most keys in the window of a query, in a sequence of so many steps."""
    return min(time, window if causal else 2 * window - 1)


def recent(values: Tensor, x: Seq, reach: int) -> Tensor:
    """(B, reach, ...): each row's last real steps of ``values`` (B, reach + T, ...), the past and a chunk."""
    if x.lengths is None:
        return values[:, x.time :]
    index = x.lengths[:, None] + torch.arange(reach, device=values.device)  # (B, reach)
    return values.gather(1, index.view(*index.shape, *(1,) * (values.dim() - 2)).expand(-1, -1, *values.shape[2:]))
