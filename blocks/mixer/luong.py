"""Attention after the recurrence (Luong): the new hidden state attends to the memory, and the result is fed back.

    h_t = cell([x_t; a_{t-1}], h_{t-1}),  e_ts = score(h_t, m_s),  w_t = softmax(e_t),  c_t = sum_s w_ts m_s
    a_t = tanh(W_c [c_t; h_t] + b_c),  y_t = a_t

    score(h, m) = h . m (dot), h . W_a m (general), or v . tanh(W_h h + W_m m) (concat)

for a memory m (the encoder's outputs), whose padding is masked, and a_0 = 0. The cell is an LSTM or a GRU. Luong et
al., 2015. Without input feeding (``feed: false``), the cell reads x_t alone, and attention is computed for all steps at
once. The state is h and, of an LSTM, c, with input feeding a, (B, D) each, the memory, (B, S, M), its keys for the
score, (B, S, D), and the mask of its real steps, (B, S).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, softmax

from composer import Invalid, Seq, State, Vec, cached_for_generation, register, show
from composer.core.streaming.recurrence import full_precision
from composer.core.streaming.time_loop import walk

from ..attention import never_empty
from ..recurrence import CELLS, FirstState, initialise, unroll, weights

#: The hidden state of a cell: (h,) of a GRU, (h, c) of an LSTM; then a, with input feeding.
Carry = tuple[Tensor, ...]


@register("mixer", "luong")
class Luong(nn.Module):
    causal = True
    ordered = True
    shows = "attention"

    def __init__(
        self,
        dim: int,
        memory_dim: int,
        initial_dim: int | None,
        *,
        cell: Literal["lstm", "gru"] = "lstm",
        score: Literal["dot", "general", "concat"] = "general",
        feed: bool = True,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if memory_dim is None:
            raise Invalid("", "'luong' attends to a memory, but none is connected. Add one to 'from': {memory: ...}.")
        if score == "dot" and memory_dim != dim:
            raise Invalid(
                "score", f"dot needs a memory of the width {dim}, found {memory_dim}. Use general, or equal widths."
            )
        kind = nn.LSTM if cell == "lstm" else nn.GRU
        self.cell: Any = kind(2 * dim if feed else dim, dim, bias=bias, batch_first=True)
        initialise(self.cell, open_gate=1 if cell == "lstm" else None)
        self.feed, self.lstm, self.additive = feed, cell == "lstm", score == "concat"
        self.first = FirstState(dim, initial_dim)
        self.key = None if score == "dot" else nn.Linear(memory_dim, dim, bias=False)
        self.query = nn.Linear(dim, dim, bias=False) if self.additive else None
        self.score = nn.Linear(dim, 1, bias=False) if self.additive else None
        self.join = nn.Linear(memory_dim + dim, dim, bias=bias)

    def start(self, batch: int, memory: Seq | None, initial: Vec | None = None) -> State:
        assert memory is not None, "a memory is read when streaming starts, or at once"
        values, real = memory.filled(), memory.mask
        if real is None:
            real = torch.ones(values.shape[:2], dtype=torch.bool, device=values.device)
        h = self.first(batch, initial, like=self.join.weight)
        state = {"h": h} | ({"c": torch.zeros_like(h)} if self.lstm else {})
        state |= {"a": torch.zeros_like(h)} if self.feed else {}
        keys = {} if self.key is None else {"keys": self.key(values)}  # with dot, the memory itself
        return {**state, **keys, "memory": values, "real": real}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        carry, names = self._carry(state)
        with full_precision(carry[0]):
            memory = self._read(state, carry[0].dtype)
            carry = self._recur(x.to(carry[0].dtype), carry)
            a, weight = self._attend(carry[0][:, None], *memory)
        show(self, lambda: weight[:, None])  # (B, 1, 1, S)
        a = a[:, 0]
        return a, {**state, **dict(zip(names, (*carry, a), strict=False))}

    def forward(
        self, x: Seq, state: State | None = None, *, memory: Seq | None, initial: Vec | None = None
    ) -> tuple[Seq, State | None]:
        read = state or self.start(x.batch, memory, initial)
        carry, names = self._carry(read)
        with full_precision(carry[0]):
            facts = self._read(read, carry[0].dtype)
            inputs = x.filled().to(carry[0].dtype)
            steps = (inputs,) if x.mask is None else (inputs, x.mask)
            last: Carry = ()
            if self.feed:
                last, (a, weight) = walk(self._fed(facts), carry, steps)
            else:
                if state is None and not torch.compiler.is_exporting():  # the last state is dropped
                    h, _ = unroll(self.cell, inputs, *carry)
                else:
                    last, h = walk(self._alone, carry, steps)
                a, weight = self._attend(h, *facts)
        show(self, lambda: weight[:, None])  # (B, 1, T, S)
        return x.like(a), None if state is None else {**read, **dict(zip(names, last, strict=True))}

    def _fed(self, facts: tuple[Tensor, ...]) -> Callable[[Carry, Carry], tuple[Carry, tuple[Tensor, Tensor]]]:
        """The step of the loop with input feeding: a_t, (B, D), and the attention weights, (B, S), are its outputs."""

        def step(carry: Carry, now: Carry) -> tuple[Carry, tuple[Tensor, Tensor]]:
            after = self._recur(now[0], carry)
            a, weight = self._attend(after[0][:, None], *facts)
            return _kept((*after, a[:, 0]), carry, now), (a[:, 0], weight[:, 0])

        return step

    def _alone(self, carry: Carry, now: Carry) -> tuple[Carry, Tensor]:
        """The step of the loop without input feeding: h_t, (B, D), is its output."""
        after = self._recur(now[0], carry)
        return _kept(after, carry, now), after[0]

    def _carry(self, state: State) -> tuple[Carry, list[str]]:
        names = [name for name in ("h", "c", "a") if name in state]
        return tuple(state[name] for name in names), names

    def _read(self, state: State, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
        """The keys (B, S, D), the memory (B, S, M), and where its padding is (B, 1, S)."""
        values = state["memory"].to(dtype)
        keys = state["keys"].to(dtype) if "keys" in state else values
        return keys, values, ~never_empty(state["real"])[:, None]

    def _recur(self, x: Tensor, carry: Carry) -> Carry:
        """One step of the cell for every row: its state after the step."""
        before: Any = carry[:2] if self.lstm else carry[0]
        if self.feed:
            x = torch.cat([x, carry[-1]], dim=-1)
        after = self._kernel(x, before, *self._weights)
        return after if self.lstm else (after,)

    def _attend(self, h: Tensor, keys: Tensor, values: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """a (B, T, D) and the attention weights (B, T, S) of hidden states (B, T, D)."""
        if self.query is None or self.score is None:
            scores = torch.bmm(h, keys.transpose(1, 2))  # (B, T, S)
        else:
            scores = self.score(torch.tanh(self.query(h)[:, :, None] + keys[:, None]))[..., 0]
        weight = softmax(scores.masked_fill(hidden, float("-inf")), dim=-1)
        context = torch.bmm(weight, values)  # (B, T, M)
        return torch.tanh(linear(torch.cat([context, h], dim=-1), self.join.weight, self.join.bias)), weight

    @cached_for_generation
    def _kernel(self) -> Callable[..., Any]:
        return CELLS[self.cell.mode]

    @cached_for_generation
    def _weights(self) -> list[Tensor]:
        return weights(self.cell)


def _kept(after: Carry, before: Carry, now: Carry) -> Carry:
    """The state after a step, in the rows where the step is real; at padding, the state before the step."""
    if len(now) == 1:
        return after
    return tuple(torch.where(now[1][:, None], new, old) for new, old in zip(after, before, strict=True))
