"""A mean over time with learned weights.

    e_t = v . tanh(W x_t + b),  a = softmax(e),  y = sum_t a_t x_t

over the real steps only; a row without real steps gives zero. The query v is learned and the same for all sequences.
Yang et al., 2016. No state.
"""

from __future__ import annotations

import torch
from torch import nn

from composer import Seq, Vec, register, show


@register("pool", "attention")
class Attention(nn.Module):
    shows = "attention"

    def __init__(self, dim: int, *, bias: bool = True) -> None:
        super().__init__()
        self.project = nn.Linear(dim, dim, bias=bias)
        self.query = nn.Linear(dim, 1, bias=False)

    def forward(self, x: Seq) -> Vec:
        values = x.filled()
        scores = self.query(torch.tanh(self.project(values))).squeeze(-1)  # (B, T)
        if x.mask is not None:
            scores = scores.masked_fill(~x.mask, torch.finfo(scores.dtype).min)  # finite: a row may have no real step
        weights = scores.softmax(-1)
        show(self, lambda: weights[:, None, None])  # (B, 1, 1, T)
        return Vec((weights[:, None] @ values.to(weights.dtype)).squeeze(1))  # (B, D)
