"""A linear projection of real-valued frames.

    y_t = W x_t + b

For time series, spectrogram frames and any other vectors. No state.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import nn

from composer.block import Positive, Probability
from composer.protocol import Step
from composer.registry import register
from composer.signals import Seq


@register("embedding", "continuous")
class Continuous(nn.Module):
    def __init__(self, dim: int, *, dim_out: Positive, dropout: Probability = 0.0) -> None:
        super().__init__()
        self.project = nn.Linear(dim, dim_out)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Seq) -> Seq:
        return x.like(self.dropout(self.project(x.filled())))  # (B, T, D)

    def stepper(self) -> Step:
        weight, bias = self.project.weight, self.project.bias
        return lambda x: F.linear(x, weight, bias)
