"""The gated recurrent unit.

    r_t = sigmoid(W_r x_t + U_r h_{t-1} + b_r),  z_t = sigmoid(W_z x_t + U_z h_{t-1} + b_z)
    n_t = tanh(W_n x_t + b_n + r_t * (U_n h_{t-1} + c_n)),  h_t = (1 - z_t) * n_t + z_t * h_{t-1}

Cho et al., 2014. Input matrices have Glorot's initialisation, recurrent matrices are orthogonal (Saxe et al., 2014).
The state is the hidden state h, (B, D).
"""

from __future__ import annotations

from torch import nn

from composer import register

from ..recurrence import Unrolled


@register("mixer", "gru")
class GRU(Unrolled):
    def __init__(self, dim: int, initial_dim: int | None, *, bias: bool = True) -> None:
        super().__init__(nn.GRU(dim, dim, bias=bias, batch_first=True), initial_dim)
