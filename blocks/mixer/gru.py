"""The gated recurrent unit.

    r_t = sigmoid(W_r x_t + U_r h_{t-1} + b_r),  z_t = sigmoid(W_z x_t + U_z h_{t-1} + b_z)
    n_t = tanh(W_n x_t + b_n + r_t * (U_n h_{t-1} + c_n)),  h_t = (1 - z_t) * n_t + z_t * h_{t-1}

Cho et al., 2014. Its state is h, (B, D).
"""

from __future__ import annotations

from torch import nn

from blocks.recurrence import full_precision, last_state, unroll
from composer.registry import register
from composer.signals import Seq, State, Vec


@register("mixer", "gru")
class GRU(nn.Module):
    causal = True

    def __init__(self, dim: int, initial_dim: int | None, *, bias: bool = True) -> None:
        super().__init__()
        self.cell = nn.GRU(dim, dim, bias=bias, batch_first=True)

    def start(self, batch: int, initial: Vec | None = None) -> State:
        weight = self.cell.weight_hh_l0
        return {"h": initial.values.to(weight.dtype) if initial else weight.new_zeros(batch, weight.shape[1])}

    def forward(self, x: Seq, state: State = None, initial: Vec | None = None) -> tuple[Seq, State]:
        before = (state or self.start(x.batch, initial))["h"]
        with full_precision(x.values):
            outputs, _ = unroll(self.cell, x.filled().to(before.dtype), before)  # (B, T, D)
        return x.like(outputs), None if state is None else {"h": last_state(outputs, x, before)}
