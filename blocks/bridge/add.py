"""A vector is added to every step's input.

    y_t = x_t + W v + b

No state.
"""

from __future__ import annotations

from torch import nn

from blocks.linear import unit_linear
from composer.registry import register
from composer.signals import Seq, Vec


@register("bridge", "add")
class Add(nn.Module):
    enters = "input"

    def __init__(self, dim: int, vector_dim: int) -> None:
        super().__init__()
        self.project = unit_linear(vector_dim, dim)

    def forward(self, x: Seq, vector: Vec) -> Seq:
        return x.like(x.values + self.project(vector.values)[:, None])  # (B, T, D)
