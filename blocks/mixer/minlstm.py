"""The minimal LSTM: no h_{t-1} in a gate, so that the whole sequence is one scan.

    f_t = sigmoid(W_f x_t + b_f),  i_t = sigmoid(W_i x_t + b_i),  n_t = g(W_h x_t + b_h)
    f'_t = f_t / (f_t + i_t),  i'_t = i_t / (f_t + i_t),  h_t = f'_t * h_{t-1} + i'_t * n_t

    g(c) = c, or for a positive candidate c + 1/2 where c >= 0 and sigmoid(c) below
    y = h, or W_o h + b_o where H is not D

Feng et al., 2024, "Were RNNs all we needed?". Its state is h, (B, H), for H = expansion * D.
"""

from __future__ import annotations

from typing import Literal

from torch import nn

from blocks.recurrence import FirstState, last_state
from blocks.scan import blend
from composer.block import Scale
from composer.registry import register
from composer.signals import Seq, State, Vec


@register("mixer", "minlstm")
class MinLSTM(nn.Module):
    causal = True

    def __init__(
        self,
        dim: int,
        initial_dim: int | None,
        *,
        expansion: Scale = 1,
        candidate: Literal["linear", "positive"] = "linear",
        bias: bool = True,
    ) -> None:
        super().__init__()
        hidden = max(1, round(dim * expansion))
        self.project = nn.Linear(dim, 3 * hidden, bias=bias)
        self.output = nn.Linear(hidden, dim, bias=bias) if hidden != dim else nn.Identity()
        self.first = FirstState(hidden, initial_dim)
        self.positive = candidate == "positive"

    def start(self, batch: int, initial: Vec | None = None) -> State:
        return {"h": self.first(batch, initial, like=self.project.weight)}

    def forward(self, x: Seq, state: State = None, initial: Vec | None = None) -> tuple[Seq, State]:
        before = (state or self.start(x.batch, initial))["h"]
        gates = self.project(x.filled()).to(before.dtype)  # (B, T, 3 H): forget, input, candidate
        h = blend(gates, before, self.positive)  # (B, T, H)
        return x.like(self.output(h)), None if state is None else {"h": last_state(h, x, before)}
