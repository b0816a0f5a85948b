"""The mean over time.

    y = 1/T sum_t x_t

over the real steps only; a row without real steps gives zero. No state.
"""

from __future__ import annotations

from torch import nn

from composer import Seq, Vec, register


@register("pool", "mean")
class Mean(nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, x: Seq) -> Vec:
        return Vec(x.filled().sum(1) / x.counts.clamp(min=1)[:, None])  # (B, D)
