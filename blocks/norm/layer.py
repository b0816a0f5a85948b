"""Layer normalisation: every step has mean 0 and variance 1, before a learned scale and shift.

    y = (x - mean(x)) / sqrt(var(x) + eps) * g + b

Ba et al., 2016. No state.
"""

from __future__ import annotations

from torch import Tensor, nn

from composer import Pointwise, Scale, register


@register("norm", "layer")
class LayerNorm(Pointwise):
    def __init__(self, dim: int, *, eps: Scale = 1e-5) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(dim, eps=eps)

    def map(self, values: Tensor) -> Tensor:
        return self.norm(values)
