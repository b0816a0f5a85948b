"""The first step: the output at the ``<cls>`` vector of the embedding ``cls``.

    y = x_1

A row without real steps gives zero. Devlin et al., 2018. No state.
"""

from __future__ import annotations

from torch import nn

from composer import Seq, Vec, register


@register("pool", "cls")
class Cls(nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, x: Seq) -> Vec:
        return Vec(x.steps(0, 1).filled()[:, 0])  # (B, D)
