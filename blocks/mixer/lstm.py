"""Long short-term memory (LSTM).

    i_t, f_t, o_t = sigmoid(W x_t + U h_{t-1} + b),  g_t = tanh(W_g x_t + U_g h_{t-1} + b_g)
    c_t = f_t * c_{t-1} + i_t * g_t,  h_t = o_t * tanh(c_t)

Hochreiter and Schmidhuber, 1997; forget gate: Gers et al., 2000. Input matrices have Glorot's initialisation, recurrent
matrices are orthogonal, and the forget gate's bias is 1 (Jozefowicz et al., 2015). The state is the hidden state h and
the cell state c, each (B, D).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from composer import Recurrence, Seq, State, Vec, cached_for_generation, register
from composer.core.streaming.recurrence import full_precision
from composer.core.streaming.time_loop import through_time

from ..recurrence import FirstState, initialise, unroll, weights


@register("mixer", "lstm")
class LSTM(Recurrence):
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

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        h, c = torch.lstm_cell(x, (state["h"], state["c"]), *self._weights)
        return h, {"h": h, "c": c}

    def forward(self, x: Seq, state: State | None = None, initial: Vec | None = None) -> tuple[Seq, State | None]:
        before = state or self.start(x.batch, initial)
        with full_precision(x.values):
            values = x.like(x.filled().to(before["h"].dtype))
            ragged = state is not None and x.lengths is not None
            if torch.compiler.is_exporting():  # torch.export would unroll the fused kernel to one length
                outputs, after = through_time(self.advance, values if ragged else Seq(values.values), before)
            elif ragged and not values.values.is_meta:  # over whole rows, the last c would be that of the padding
                outputs, after = self._ragged(values, before)
            else:
                outputs, (h, c) = unroll(self.cell, values.values, before["h"], before["c"])  # (B, T, D)
                after = {"h": h, "c": c}
        return x.like(outputs), None if state is None else after

    def _ragged(self, x: Seq, before: State) -> tuple[Tensor, State]:
        """The outputs, and the state after each row's last real step: the rows are packed without their padding."""
        assert x.lengths is not None
        some = x.lengths.clamp(min=1).cpu()  # a row without a real step cannot be packed
        packed = pack_padded_sequence(x.values, some, batch_first=True, enforce_sorted=False)
        outputs, (h, c) = self.cell(packed, (before["h"][None], before["c"][None]))
        real = x.lengths[:, None] > 0
        after = {name: torch.where(real, new[0], before[name]) for name, new in (("h", h), ("c", c))}
        return pad_packed_sequence(outputs, batch_first=True, total_length=x.time)[0], after

    @cached_for_generation
    def _weights(self) -> list[Tensor]:
        return weights(self.cell)
