"""Long short-term memory.

    i_t, f_t, o_t = sigmoid(W x_t + U h_{t-1} + b),  g_t = tanh(W_g x_t + U_g h_{t-1} + b_g)
    c_t = f_t * c_{t-1} + i_t * g_t,  h_t = o_t * tanh(c_t)

Hochreiter and Schmidhuber, 1997; forget gate: Gers et al., 2000. Input matrices start as Glorot's, recurrent ones
orthogonal, and the forget gate's bias at 1 (Jozefowicz et al., 2015). Its state is h and c, each (B, D).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from blocks.recurrence import FirstState, full_precision, in_full_precision, initialise, unroll, weights
from blocks.steps import walk
from composer import Seq, State, Vec, register
from composer.core.streaming import StateStep


@register("mixer", "lstm")
class LSTM(nn.Module):
    causal = True
    ordered = True

    def __init__(self, dim: int, initial_dim: int | None, *, bias: bool = True) -> None:
        super().__init__()
        self.cell = nn.LSTM(dim, dim, bias=bias, batch_first=True)
        initialise(self.cell, open_gate=1)
        self.first = FirstState(dim, initial_dim)

    def start(self, batch: int, initial: Vec | None = None) -> State:
        h = self.first(batch, initial, like=next(self.cell.parameters()))
        return {"h": h, "c": torch.zeros_like(h)}

    def forward(self, x: Seq, state: State = None, initial: Vec | None = None) -> tuple[Seq, State]:
        before = state or self.start(x.batch, initial)
        with full_precision(x.values):
            values = x.filled().to(before["h"].dtype)
            if state is not None and x.mask is not None:
                return self._ragged(x, values, x.mask, before)
            outputs, (h, c) = unroll(self.cell, values, before["h"], before["c"])  # (B, T, D)
        return x.like(outputs), None if state is None else {"h": h, "c": c}

    def _ragged(self, x: Seq, values: Tensor, mask: Tensor, state: State) -> tuple[Seq, State]:
        """Step by step, rows that have ended left as they are: the fused kernel does not give c at every step."""
        known = weights(self.cell)

        def step(before: tuple[Tensor, Tensor], now: tuple[Tensor, Tensor]) -> tuple[tuple[Tensor, Tensor], Tensor]:
            after, real = torch.lstm_cell(now[0], before, *known), now[1][:, None]
            h, c = (torch.where(real, new, old) for new, old in zip(after, before, strict=True))
            return (h, c), h

        (h, c), outputs = walk(step, (state["h"], state["c"]), (values, mask))
        return x.like(outputs), {"h": h, "c": c}

    def stepper(self) -> StateStep:
        known = weights(self.cell)

        def step(x: Tensor, state: State) -> tuple[Tensor, State]:
            h, c = torch.lstm_cell(x, (state["h"], state["c"]), *known)
            return h, {"h": h, "c": c}

        return in_full_precision(step, known[0])
