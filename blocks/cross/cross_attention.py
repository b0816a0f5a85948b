"""Multi-head attention from one sequence to another.

    head_h = softmax(Q_h K_h^T / sqrt(K)) V_h,  Q = x W_q,  K, V = m W_k, m W_v,  y = [head_1; ...; head_H] W_o

for a memory m, whose padding is hidden. Vaswani et al., 2017. Its state is the memory's keys and values, (B, H, S, K), projected
once, and which of them are real, (B, S).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from blocks.attention import head_width, join_heads, never_empty, split_heads
from composer.block import Positive, Probability
from composer.registry import register
from composer.signals import Seq, State


@register("cross", "cross_attention")
class CrossAttention(nn.Module):
    causal = True

    def __init__(
        self, dim: int, memory_dim: int, *, heads: Positive = 4, dropout: Probability = 0.0, bias: bool = True
    ) -> None:
        super().__init__()
        head_width(dim, heads)
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(dim, dim, bias=bias)
        self.memory = nn.Linear(memory_dim, 2 * dim, bias=bias)
        self.output = nn.Linear(dim, dim, bias=bias)

    def start(self, batch: int, memory: Seq | None) -> State:
        assert memory is not None, "a memory is read when streaming starts, or at once"
        k, v = (split_heads(part, self.heads) for part in self.memory(memory.filled()).chunk(2, dim=-1))
        real = memory.mask
        if real is None:
            real = torch.ones(memory.batch, memory.time, dtype=torch.bool, device=memory.values.device)
        return {"k": k, "v": v, "real": real}

    def forward(self, x: Seq, state: State = None, *, memory: Seq | None) -> tuple[Seq, State]:
        read = state or self.start(x.batch, memory)
        q = split_heads(self.query(x.filled()), self.heads)  # (B, H, T, K)
        whole = memory is not None and memory.lengths is None
        mask = None if whole else never_empty(read["real"])[:, None, None]  # (B, 1, 1, S)
        heads = F.scaled_dot_product_attention(
            q, read["k"], read["v"], mask, self.dropout if self.training else 0.0
        )
        return x.like(self.output(join_heads(heads))), state
