"""A learned vector before the first step, for a model to gather in it what it knows of the whole sequence.

    y = sqrt(D) c, x_1, ..., x_T

The ``<cls>`` token, to be read by the pool of that name. Every step moves one place, so it is not causal.
Devlin et al., 2018. The vector c is drawn from N(0, 1/D), as the rows of a token embedding are. No state.
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
