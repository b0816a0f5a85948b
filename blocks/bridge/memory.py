"""A vector becomes a memory for cross-attention to read.

    m_1, ..., m_n = W_1 v + b_1, ..., W_n v + b_n

for n = ``length``. If n is 1, every step reads the same entry; otherwise cross-attention weights the entries at every
step. No state.
"""

from __future__ import annotations

from torch import nn

from composer import Positive, Seq, Vec, register

from ..linear import unit_linear


@register("bridge", "memory")
class Memory(nn.Module):
    enters = "memory"

    def __init__(self, vector_dim: int, dim: int, *, length: Positive = 4) -> None:
        super().__init__()
        self.length = length
        self.project = unit_linear(vector_dim, length * dim)

    def forward(self, vector: Vec) -> Seq:
        return Seq(self.project(vector.values).unflatten(-1, (self.length, -1)))  # (B, length, D)
