"""A vector scales and shifts every feature of every step's input.

    y_t = (1 + g) * x_t + s,  [g; s] = W v + b

so that g = 0 and s = 0 leave the input unchanged. Feature-wise linear modulation (FiLM), Perez et al., 2018. No state.
"""

from __future__ import annotations

from torch import nn

from composer import Seq, Vec, register, show_terms

#: why the vector's terms may be small beside the input, for the law ``signals``
GENTLE = "the vector modulates the input, which it should leave whole at first"


@register("bridge", "film")
class FiLM(nn.Module):
    enters = "input"

    def __init__(self, dim: int, vector_dim: int) -> None:
        super().__init__()
        self.project = nn.Linear(vector_dim, 2 * dim)

    def forward(self, x: Seq, vector: Vec) -> Seq:
        scale, shift = self.project(vector.values)[:, None].chunk(2, dim=-1)  # (B, 1, D) each
        show_terms(
            self,
            lambda: {"input": x, "scaling": x.like(scale * x.filled()), "shift": x.like(shift.expand_as(x.values))},
            scaling=GENTLE,
            shift=GENTLE,
        )
        return x.like((1 + scale) * x.filled() + shift)
