"""The plain recurrent network.

    h_t = f(U x_t + V h_{t-1} + b),  f = tanh or relu

Elman, 1990. Its state is h, (B, D).
"""

from __future__ import annotations

from typing import Literal

from torch import nn

from blocks.recurrence import full_precision, last_state, unroll
from composer.registry import register
from composer.signals import Seq, State, Vec


@register("mixer", "rnn")
class RNN(nn.Module):
    causal = True

    def __init__(
        self, dim: int, initial_dim: int | None, *, nonlinearity: Literal["tanh", "relu"] = "tanh", bias: bool = True
    ) -> None:
        super().__init__()
        self.cell = nn.RNN(dim, dim, nonlinearity=nonlinearity, bias=bias, batch_first=True)

    def start(self, batch: int, initial: Vec | None = None) -> State:
        weight = self.cell.weight_hh_l0
        return {"h": initial.values.to(weight.dtype) if initial else weight.new_zeros(batch, weight.shape[1])}

    def forward(self, x: Seq, state: State = None, initial: Vec | None = None) -> tuple[Seq, State]:
        before = (state or self.start(x.batch, initial))["h"]
        with full_precision(x.values):
            outputs, _ = unroll(self.cell, x.filled().to(before.dtype), before)  # (B, T, D)
        return x.like(outputs), None if state is None else {"h": last_state(outputs, x, before)}
