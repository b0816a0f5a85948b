"""Root-mean-square normalisation: every step to unit size, then a learned scale.

    y = x / sqrt(mean(x^2) + eps) * g

Zhang and Sennrich, 2019. No state.
"""

from __future__ import annotations

import torch
from torch import nn

from composer.block import Scale
from composer.registry import register
from composer.signals import Seq


@register("norm", "rms")
class RMSNorm(nn.Module):
    def __init__(self, dim: int, *, eps: Scale = 1e-6) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x: Seq) -> Seq:
        values = x.filled()
        size = torch.linalg.vecdot(values, values)[..., None] / x.dim  # (B, T, 1); a square less to keep than x^2
        return x.like(values * (size + self.eps).rsqrt() * self.scale)
