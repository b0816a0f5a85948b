"""The plain recurrent neural network (RNN).

    h_t = f(U x_t + V h_{t-1} + b),  f = tanh or relu

Elman, 1990. The input matrix has Glorot's initialisation, the recurrent matrix is orthogonal (Saxe et al., 2014). The
state is the hidden state h, (B, D).
"""

from __future__ import annotations

from typing import Literal

from torch import nn

from composer import register

from ..recurrence import Unrolled


@register("mixer", "rnn")
class RNN(Unrolled):
    def __init__(
        self, dim: int, initial_dim: int | None, *, nonlinearity: Literal["tanh", "relu"] = "tanh", bias: bool = True
    ) -> None:
        super().__init__(nn.RNN(dim, dim, nonlinearity=nonlinearity, bias=bias, batch_first=True), initial_dim)
