"""A vector becomes steps before the first step of the sequence.

    x_{-n+1}, ..., x_0 = W_n v + b_n, ..., W_1 v + b_1

Every step of the sequence reads these n = ``length`` steps as its past, like an image's vector before its caption
(Vinyals et al., 2015) or a learned prompt (Li and Liang, 2021). No state.
"""

from __future__ import annotations

from torch import nn

from composer import Positive, Seq, Vec, register

from ..linear import unit_linear


@register("bridge", "prefix")
class Prefix(nn.Module):
    enters = "prefix"

    def __init__(self, vector_dim: int, dim: int, *, length: Positive = 1) -> None:
        super().__init__()
        self.length = length
        self.project = unit_linear(vector_dim, length * dim)

    def forward(self, vector: Vec) -> Seq:
        return Seq(self.project(vector.values).unflatten(-1, (self.length, -1)))  # (B, length, D)
