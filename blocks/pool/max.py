"""The largest value of every feature over time.

    y_j = max_t x_t,j

over the real steps only; a row without real steps gives zero. Collobert et al., 2011. No state.
"""

from __future__ import annotations

import torch
from torch import nn

from composer import Seq, Vec, register


@register("pool", "max")
class Max(nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, x: Seq) -> Vec:
        if x.lengths is None:
            return Vec(x.values.amax(1))  # (B, D)
        largest = x.filled(-torch.inf).amax(1)
        return Vec(torch.where(x.lengths[:, None] > 0, largest, 0.0))
