"""A vector is added to every step's input.

    y_t = x_t + W v + b

No state.
"""

from __future__ import annotations

from torch import nn

from composer import Seq, Vec, register, show_terms

from ..linear import unit_linear


@register("bridge", "add")
class Add(nn.Module):
    enters = "input"

    def __init__(self, dim: int, vector_dim: int) -> None:
        super().__init__()
        self.project = unit_linear(vector_dim, dim)

    def forward(self, x: Seq, vector: Vec) -> Seq:
        added = self.project(vector.values)[:, None]  # (B, 1, D)
        show_terms(self, lambda: {"input": x, "vector": x.like(added.expand_as(x.values))})
        return x.like(x.values + added)
