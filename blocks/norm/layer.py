"""Layer normalisation: every step to mean 0 and variance 1, then a learned scale and shift.

    y = (x - mean(x)) / sqrt(var(x) + eps) * g + b

Ba et al., 2016. No state.
"""

from __future__ import annotations

import torch
from torch import nn

from composer import Scale, Seq, register
from composer.core.streaming import Step


@register("norm", "layer")
class LayerNorm(nn.Module):
    def __init__(self, dim: int, *, eps: Scale = 1e-5) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=eps)

    def forward(self, x: Seq) -> Seq:
        return x.like(self.norm(x.filled()))

    def stepper(self) -> Step:
        shape, weight, bias, eps = self.norm.normalized_shape, self.norm.weight, self.norm.bias, self.norm.eps
        return lambda x: torch.layer_norm(x, shape, weight, bias, eps)
