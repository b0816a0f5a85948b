"""A vector is concatenated to every step's input and projected.

    y_t = W [x_t; v] + b

so that a recurrence after it is h_t = f(W_xh [v; x_t] + W_hh h_{t-1}). No state.
"""

from __future__ import annotations

from torch import nn

from composer import Seq, Vec, register, show_terms

from ..linear import unit_linear


@register("bridge", "concat_every_step")
class ConcatEveryStep(nn.Module):
    enters = "input"

    def __init__(self, dim: int, vector_dim: int) -> None:
        super().__init__()
        self.step = unit_linear(dim, dim)
        # Two matrices instead of one on [x_t; v], so that the product with v is computed once and not at every step.
        self.vector = unit_linear(vector_dim, dim, bias=False)

    def forward(self, x: Seq, vector: Vec) -> Seq:
        step, added = self.step(x.filled()), self.vector(vector.values)[:, None]  # (B, T, D), (B, 1, D)
        show_terms(self, lambda: {"step": x.like(step), "vector": x.like(added.expand_as(step))})
        return x.like(step + added)
