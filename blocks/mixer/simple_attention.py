"""Self-attention without parameters.

    e_ij = x_i . x_j,  a_i = softmax over j of e_ij,  y_i = sum_j a_ij x_j

over j <= i if it is causal. The state is a cache of the steps read so far, (B, S, D), and the position of each in its
row, (B, S).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from composer import Seq, State, refuse_to_stream, register, show

from ..attention import attend, never_empty, weights
from ..attention.cache import append, arrival, empty
from ..attention.scores import Dot


@register("mixer", "simple_attention")
class SimpleAttention(nn.Module):
    shows = "attention"

    def __init__(self, dim: int, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.dim = dim
        self.score = Dot(1.0)

    def start(self, batch: int) -> State:
        if not self.causal:
            refuse_to_stream(self)
        return empty(torch.empty(self.dim), batch)

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        values = x.filled()
        if state is None:
            real = None if self.causal or x.mask is None else never_empty(x.mask)[:, None]  # (B, 1, T)
            return self._mean(x, values, values, real, self.causal), None
        if not self.causal:
            refuse_to_stream(self)
        now = arrival(state, x)
        following, places = append(state, x, now, values)
        mask = never_empty((places[:, None] >= 0) & (places[:, None] <= now[..., None]))  # (1 or B, T, S)
        return self._mean(x, values, following["steps"], mask, False), following

    def _mean(self, x: Seq, queries: Tensor, keys: Tensor, mask: Tensor | None, causal: bool) -> Seq:
        q, k = queries[:, None], keys[:, None]  # one head
        mask = None if mask is None else mask[:, None]
        show(self, lambda: weights(self.score, q, k, mask, causal=causal))
        return x.like(attend(self.score, q, k, k, mask=mask, causal=causal)[:, 0])
