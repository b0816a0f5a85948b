"""Multi-head cross-attention: each step of one sequence attends to another sequence, the memory.

    head_h = softmax(score(Q_h, K_h)) V_h,  Q = x W_q,  K, V = m W_k, m W_v,  y = [head_1; ...; head_H] W_o

for a memory m (the encoder's outputs), whose padding is masked. The score is the scaled dot product Q_h K_h^T / sqrt(K)
or another one. Vaswani et al., 2017; Bahdanau et al., 2015; Luong et al., 2015. The state is the memory's keys and
values, (B, G, S, K), projected once, and the mask of the memory's real steps, (B, S), or (B, 0) without padding.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from composer import Invalid, Positive, Probability, Seq, State, register, show

from ..attention import attend, join_heads, never_empty, split_heads, weights
from ..attention.heads import head_width as divide
from ..attention.scores import ScoreName, make_score


@register("cross", "cross_attention")
class CrossAttention(nn.Module):
    causal = True
    shows = "attention"

    def __init__(
        self,
        dim: int,
        memory_dim: int,
        *,
        heads: Positive = 4,
        kv_heads: Positive | None = None,
        head_width: Positive | None = None,
        score: ScoreName = "dot",
        dropout: Probability = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.kv_heads = kv_heads or heads
        if heads % self.kv_heads:
            raise Invalid("kv_heads", f"{kv_heads} heads of keys do not divide the {heads} heads of queries evenly.")
        width = head_width or divide(dim, heads)
        self.dropout = dropout
        self.query = nn.Linear(dim, heads * width, bias=bias)
        self.memory = nn.Linear(memory_dim, 2 * self.kv_heads * width, bias=bias)
        self.output = nn.Linear(heads * width, dim, bias=bias)
        self.score = make_score(score, heads, width)

    def start(self, batch: int, memory: Seq | None) -> State:
        assert memory is not None, "a memory is read when streaming starts, or at once"
        k, v = (split_heads(part, self.kv_heads) for part in self.memory(memory.filled()).chunk(2, dim=-1))
        real = memory.mask
        if real is None:
            real = torch.ones(memory.batch, 0, dtype=torch.bool, device=memory.values.device)
        return {"k": k, "v": v, "real": real}

    def forward(self, x: Seq, state: State | None = None, *, memory: Seq | None) -> tuple[Seq, State | None]:
        read = state or self.start(x.batch, memory)
        heads = self._read(split_heads(self.query(x.filled()), self.heads), read)
        return x.like(self.output(join_heads(heads))), state

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        q = self.query(x).view(x.shape[0], self.heads, 1, -1)  # (B, H, 1, K)
        return self.output(self._read(q, state).flatten(1)), state

    def _read(self, q: Tensor, read: State) -> Tensor:
        """(B, H, T, K), for queries of that shape."""
        k, real = read["k"], read["real"]
        mask = never_empty(real)[:, None, None] if real.shape[1] else None  # (B, 1, 1, S)
        show(self, lambda: weights(self.score, q, k, mask))
        return attend(self.score, q, k, read["v"], mask=mask, dropout=self.dropout if self.training else 0.0)
