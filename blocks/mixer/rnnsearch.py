"""Attention inside the recurrence (RNNsearch): at every step the previous hidden state attends to the memory.

    e_ij = v^T tanh(W_a s_{i-1} + U_a h_j),  a_i = softmax(e_i),  c_i = sum_j a_ij h_j
    s_i = GRU([x_i; c_i], s_{i-1}) = (1 - z) * n + z * s_{i-1},  n = tanh(W [x_i; c_i] + r * (U s_{i-1}))

for a memory h (the encoder's outputs), whose padding is masked. Bahdanau et al., 2015. The GRU is that of torch and
cuDNN, whose reset gate r acts after the product with U; in the paper it acts before, U (r * s_{i-1}), and z and 1 - z
change places. The state is the hidden state s, (B, D), the memory, (B, S, M), its keys U_a h, (B, S, A),
projected once, and the mask of its real steps, (B, S).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer import Invalid, Scale, Seq, State, Vec, register, show
from composer.core.streaming.recurrence import full_precision
from composer.core.streaming.time_loop import walk

from ..attention import never_empty
from ..recurrence import FirstState


@register("mixer", "rnnsearch")
class RNNSearch(nn.Module):
    causal = True
    ordered = True
    shows = "attention"

    def __init__(
        self, dim: int, memory_dim: int, initial_dim: int | None, *, expansion: Scale = 1, bias: bool = True
    ) -> None:
        super().__init__()
        if memory_dim is None:
            raise Invalid("", "'rnnsearch' searches a memory, but none is connected. Add one to 'from': {memory: ...}.")
        hidden = max(1, round(dim * expansion))  # the width A of the score's hidden layer
        self.first = FirstState(dim, initial_dim)
        self.query = nn.Linear(dim, hidden, bias=False)
        self.key = nn.Linear(memory_dim, hidden, bias=bias)
        self.score = nn.Linear(hidden, 1, bias=False)
        self.cell = nn.GRUCell(dim + memory_dim, dim, bias=bias)

    def start(self, batch: int, memory: Seq | None, initial: Vec | None = None) -> State:
        assert memory is not None, "a memory is read when streaming starts, or at once"
        values = memory.filled()
        real = memory.mask
        if real is None:
            real = torch.ones(values.shape[:2], dtype=torch.bool, device=values.device)
        s = self.first(batch, initial, like=self.cell.weight_hh)
        return {"s": s, "keys": self.key(values), "memory": values, "real": real}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        s = state["s"]
        with full_precision(s):
            keys, values = state["keys"].to(s.dtype), state["memory"].to(s.dtype)
            s, weight = self._search(x.to(s.dtype), s, keys, values, ~never_empty(state["real"]))
        show(self, lambda: weight[:, None, None])  # (B, 1, 1, S)
        return s, {**state, "s": s}

    def forward(
        self, x: Seq, state: State | None = None, *, memory: Seq | None, initial: Vec | None = None
    ) -> tuple[Seq, State | None]:
        read = state or self.start(x.batch, memory, initial)
        s = read["s"]
        with full_precision(s):
            keys, values = read["keys"].to(s.dtype), read["memory"].to(s.dtype)
            hidden = ~never_empty(read["real"])  # (B, S)

            def step(s: Tensor, now: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
                following, weight = self._search(now[0], s, keys, values, hidden)
                s = torch.where(now[1][:, None], following, s) if len(now) > 1 else following
                return s, (s, weight)

            inputs = x.filled().to(s.dtype)
            s, (outputs, weights) = walk(step, s, (inputs,) if x.mask is None else (inputs, x.mask))
        show(self, lambda: weights[:, None])  # (B, 1, T, S)
        return x.like(outputs), None if state is None else {**read, "s": s}

    def _search(self, x: Tensor, s: Tensor, keys: Tensor, values: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """One step of every row: the next s (B, D), and the attention weights (B, S) of the memory's steps."""
        scores = self.score(torch.tanh(self.query(s)[:, None] + keys))[..., 0]  # (B, S)
        weight = F.softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
        context = torch.bmm(weight[:, None], values)[:, 0]  # (B, M)
        return self.cell(torch.cat([x, context], dim=-1), s), weight
