"""No mixing at all: every step by itself.

    y_t = x_t

The floor under every mixer, and a layer of a pattern that holds nothing but its ffn. No state.
"""

from __future__ import annotations

from torch import Tensor

from composer import Pointwise, Seq, register


@register("mixer", "identity")
class Identity(Pointwise):
    causal = True

    def __init__(self) -> None:
        super().__init__()

    def map(self, values: Tensor) -> Tensor:
        return values

    def forward(self, x: Seq) -> Seq:
        return x
