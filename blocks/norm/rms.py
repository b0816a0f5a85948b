"""Root-mean-square normalisation: every step has a root mean square of 1, before a learned scale.

    y = x / sqrt(mean(x^2) + eps) * g

Zhang and Sennrich, 2019. No state.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from composer import Pointwise, Scale, register


@register("norm", "rms")
class RMSNorm(Pointwise):
    def __init__(self, dim: int, *, eps: Scale = 1e-6) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def map(self, values: Tensor) -> Tensor:
        # (..., 1); unlike x^2, vecdot stores no extra tensor (..., D) for the backward pass
        size = torch.linalg.vecdot(values, values)[..., None] / values.shape[-1]
        return values * (size + self.eps).rsqrt() * self.scale
