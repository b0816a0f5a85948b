"""What the mixers over a window share: the steps on its left, zeros or what an earlier chunk left behind."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from composer.signals import Seq


def centred(values: Tensor, reach: int) -> Tensor:
    """(B, T + reach, D): zeros on both sides, for windows of reach + 1 steps around every step."""
    left = reach // 2
    return F.pad(values, (0, 0, left, reach - left))


def recent(values: Tensor, x: Seq, reach: int) -> Tensor:
    """(B, reach, D): each row's last real steps, out of the ``values`` (B, reach + T, D) of a chunk and before it."""
    if x.lengths is None:
        return values[:, x.time :]
    index = x.lengths[:, None] + torch.arange(reach, device=values.device)  # (B, reach)
    return values.gather(1, index[..., None].expand(-1, -1, values.shape[-1]))
