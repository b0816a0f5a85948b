"""Self-attention with an additive score, a small network.

    e_ij = u^T tanh(W x_i + U x_j + b),  a_i = softmax over j of e_ij,  y_i = sum_j a_ij x_j

Bahdanau et al., 2015, with the same sequence as queries and as keys. (For several heads and projected values, use the
mixer ``attention`` with ``score: additive``.) The state is a cache of the keys U x and the steps x read so far,
concatenated, (B, S, width + D), and the position of each in its row, (B, S).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from composer import Positive, Probability, Seq, State, refuse_to_stream, register, show

from ..attention import attend, never_empty, weights
from ..attention.cache import append, arrival, empty
from ..attention.scores import Additive


@register("mixer", "additive_attention")
class AdditiveAttention(nn.Module):
    shows = "attention"

    def __init__(
        self, dim: int, causal: bool, *, width: Positive | None = None, dropout: Probability = 0.0, bias: bool = True
    ) -> None:
        super().__init__()
        self.causal = causal
        self.dim = dim
        self.width = width or dim
        self.dropout = dropout
        self.query = nn.Linear(dim, self.width, bias=bias)
        self.key = nn.Linear(dim, self.width, bias=False)
        self.score = Additive(1, self.width)

    def start(self, batch: int) -> State:
        if not self.causal:
            refuse_to_stream(self)
        return empty(self.key.weight.new_empty(self.width + self.dim), batch)

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        values = x.filled()
        queries, keys = self.query(values), self.key(values)  # (B, T, width)
        if state is None:
            real = None if self.causal or x.mask is None else never_empty(x.mask)[:, None]  # (B, 1, T)
            return self._mean(x, queries, keys, values, real, self.causal), None
        if not self.causal:
            refuse_to_stream(self)
        now = arrival(state, x)
        following, places = append(state, x, now, torch.cat([keys, values.to(keys.dtype)], dim=-1))
        mask = never_empty((places[:, None] >= 0) & (places[:, None] <= now[..., None]))  # (1 or B, T, S)
        keys, values = following["steps"].split([self.width, self.dim], dim=-1)
        return self._mean(x, queries, keys, values, mask, False), following

    def _mean(self, x: Seq, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, causal: bool) -> Seq:
        q, k, v = queries[:, None], keys[:, None], values[:, None]  # one head
        mask = None if mask is None else mask[:, None]
        show(self, lambda: weights(self.score, q, k, mask, causal=causal))
        dropout = self.dropout if self.training else 0.0
        return x.like(attend(self.score, q, k, v, mask=mask, causal=causal, dropout=dropout)[:, 0])
