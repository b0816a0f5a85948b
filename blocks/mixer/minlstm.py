"""The minimal LSTM: no h_{t-1} in a gate, so that the whole sequence is one scan.

    f_t = sigmoid(W_f x_t + b_f),  i_t = sigmoid(W_i x_t + b_i),  n_t = g(W_h x_t + b_h)
    f'_t = f_t / (f_t + i_t),  i'_t = i_t / (f_t + i_t),  h_t = f'_t * h_{t-1} + i'_t * n_t

    g(c) = c, or for a positive candidate c + 1/2 where c >= 0 and sigmoid(c) below
    y = h, or W_o h + b_o where H is not D

Feng et al., 2024, "Were RNNs all we needed?". Matrices start at N(0, 1/D), biases at zero, so that gates and candidate
see features of unit size. Its state is h, (B, H), for H = expansion * D.
"""

from __future__ import annotations

from typing import Literal

from blocks.recurrence import Blended
from composer import Scale, register


@register("mixer", "minlstm")
class MinLSTM(Blended):
    def __init__(
        self,
        dim: int,
        initial_dim: int | None,
        *,
        expansion: Scale = 1,
        candidate: Literal["linear", "positive"] = "linear",
        bias: bool = True,
    ) -> None:
        super().__init__(2, dim, initial_dim, expansion, candidate, bias)
