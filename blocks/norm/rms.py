"""Root-mean-square normalisation: every step to unit size, then a learned scale.

    y = x / sqrt(mean(x^2) + eps) * g

Zhang and Sennrich, 2019. No state.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from composer import Scale, Seq, register
from composer.core.streaming import Step


@register("norm", "rms")
class RMSNorm(nn.Module):
    def __init__(self, dim: int, *, eps: Scale = 1e-6) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x: Seq) -> Seq:
        return x.like(_scaled(x.filled(), self.scale, self.eps))

    def stepper(self) -> Step:
        scale, eps = self.scale, self.eps
        return lambda x: _scaled(x, scale, eps)


def _scaled(values: Tensor, scale: Tensor, eps: float) -> Tensor:
    size = torch.linalg.vecdot(values, values)[..., None] / values.shape[-1]  # (..., 1); a square less to keep than x^2
    return values * (size + eps).rsqrt() * scale
