"""The minimal LSTM: no gate depends on h_{t-1}, so that one scan computes the whole sequence.

    f_t = sigmoid(W_f x_t + b_f),  i_t = sigmoid(W_i x_t + b_i),  n_t = g(W_h x_t + b_h)
    f'_t = f_t / (f_t + i_t),  i'_t = i_t / (f_t + i_t),  h_t = f'_t * h_{t-1} + i'_t * n_t

    g(c) = c; for a positive candidate, c + 1/2 if c >= 0 and sigmoid(c) otherwise
    y = h, or W_o h + b_o if H is not D

Feng et al., 2024, "Were RNNs all we needed?". Matrices are drawn from N(0, 1/D) and biases are zero, so that gates
and candidate get features of unit size. With a ``timescale`` of N steps, the biases of the gates are drawn so that the
units of an untrained block forget within 2 to N steps (chrono initialisation; Tallec and Ollivier, 2018). The state is
the hidden state h, (B, H), for H = expansion * D.
"""

from __future__ import annotations

from typing import Literal

from composer import Scale, register

from ..recurrence import Blended, Timescale


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
        timescale: Timescale = None,
    ) -> None:
        super().__init__(2, dim, initial_dim, expansion, candidate, bias, timescale)
