"""A learned vector before the first step, in which a model collects information about the whole sequence.

    y = sqrt(D) c, x_1, ..., x_T

The ``<cls>`` token, which the pool ``cls`` reads. Every step moves by one place, so this block is not causal.
Devlin et al., 2018. The vector c is drawn from N(0, 1/D), like the rows of a token embedding. No state.
"""

from __future__ import annotations

import torch
from torch import nn

from composer import Seq, register


@register("embedding", "cls")
class Cls(nn.Module):
    causal = False

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.empty(dim))
        self.scale = dim**0.5
        nn.init.normal_(self.vector, std=1 / self.scale)

    def forward(self, x: Seq) -> Seq:
        first = (self.vector * self.scale).expand(x.batch, 1, -1)
        lengths = None if x.lengths is None else x.lengths + 1
        return Seq(torch.cat([first, x.filled()], dim=1), lengths)  # (B, 1 + T, D)
