"""No mixing: every step is returned unchanged.

    y_t = x_t

A baseline for every mixer, and the mixer of a pattern's layer that has only a feed-forward network. No state.
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
