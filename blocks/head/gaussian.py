"""Real-valued outputs with unit variance.

    p(y | h) = N(y; W h + b, I),  loss = 1/2 |y - (W h + b)|^2 + D/2 log 2 pi

No state.
"""

from __future__ import annotations

import math

from torch import Tensor, nn

from composer.registry import register
from composer.signals import Seq, Vec


@register("head", "gaussian")
class Gaussian(nn.Module):
    def __init__(self, dim: int, target_dim: int) -> None:
        super().__init__()
        self.project = nn.Linear(dim, target_dim)

    def forward(self, x: Seq | Vec) -> Seq | Vec:
        return x.like(self.project(x.filled() if isinstance(x, Seq) else x.values))  # (..., D), the mean

    def loss(self, output: Seq | Vec, target: Seq | Vec) -> Tensor:
        """(B, T) or (B,), in nats."""
        if isinstance(output, Seq) and isinstance(target, Seq):
            error = Seq(output.values, target.lengths).filled() - target.filled()
        else:
            error = output.values - target.values
        losses = 0.5 * error.square().sum(-1) + 0.5 * error.shape[-1] * math.log(2 * math.pi)
        mask = target.mask if isinstance(target, Seq) else None
        return losses if mask is None else losses.masked_fill(~mask, 0.0)
