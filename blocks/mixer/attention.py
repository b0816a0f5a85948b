"""Multi-head self-attention.

    head_h = softmax(Q_h K_h^T / sqrt(K) + M) V_h,  Q, K, V = x W_q, x W_k, x W_v,  y = [head_1; ...; head_H] W_o

M hides the future where it is causal, and padding always. Vaswani et al., 2017. Its state is the keys and values read so far,
(B, H, S, K), the position of each (-1 for padding), (B, S), and the number of steps read, (B,).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from blocks.attention import head_width, join_heads, never_empty, split_heads
from composer.block import Positive, Probability, Recipe
from composer.problems import Invalid
from composer.protocol import refuse_to_stream
from composer.registry import register
from composer.signals import Seq, State


@register("mixer", "attention")
class Attention(nn.Module):
    def __init__(
        self,
        dim: int,
        causal: bool,
        *,
        heads: Positive = 4,
        dropout: Probability = 0.0,
        bias: bool = True,
        position: Recipe | None = None,
    ) -> None:
        super().__init__()
        self.causal = causal
        self.heads = heads
        self.width = head_width(dim, heads)
        self.dropout = dropout
        self.project = nn.Linear(dim, 3 * dim, bias=bias)
        self.output = nn.Linear(dim, dim, bias=bias)
        if position is not None and not hasattr(position.block, "rotate"):
            raise Invalid("position", f"'{position.name}' does not act inside attention. Give it to the stack instead.")
        self.position = position.build(dim=self.width) if position is not None else None

    def start(self, batch: int) -> State:
        if not self.causal:
            refuse_to_stream(self)
        cache = self.project.weight.new_zeros(batch, self.heads, 0, self.width)
        positions = torch.zeros(batch, 0, dtype=torch.long)
        return {"k": cache, "v": cache, "position": positions, "count": torch.zeros(batch, dtype=torch.long)}

    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        q, k, v = (split_heads(part, self.heads) for part in self.project(x.filled()).chunk(3, dim=-1))  # (B, H, T, K)
        steps = torch.arange(x.time, device=x.values.device)  # (T,)
        if state is None:
            q, k = self._turn(q, k, steps)
            return self._attend(x, q, k, v, self._mask(x)), None
        if not self.causal:
            refuse_to_stream(self)
        now = state["count"][:, None] + steps  # (B, T)
        q, k = self._turn(q, k, now[:, None])
        read = now if x.mask is None else now.masked_fill(~x.mask, -1)
        following = {
            "k": torch.cat([state["k"], k], dim=2),
            "v": torch.cat([state["v"], v], dim=2),
            "position": torch.cat([state["position"], read], dim=1),
            "count": state["count"] + x.counts,
        }
        seen = following["position"][:, None]  # (B, 1, S)
        mask = never_empty((seen >= 0) & (seen <= now[..., None]))[:, None]  # (B, 1, T, S)
        return self._attend(x, q, following["k"], following["v"], mask), following

    def _turn(self, q: Tensor, k: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        if self.position is None:
            return q, k
        return self.position.rotate(q, positions), self.position.rotate(k, positions)

    def _mask(self, x: Seq) -> Tensor | None:
        """Over whole sequences the causal kernel needs none: padding on the right is the future of all that is real."""
        if self.causal or x.mask is None:
            return None
        return never_empty(x.mask)[:, None, None]  # (B, 1, 1, T)

    def _attend(self, x: Seq, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Seq:
        dropout = self.dropout if self.training else 0.0
        causal = self.causal and mask is None
        heads = F.scaled_dot_product_attention(q, k, v, mask, dropout, is_causal=causal)
        return x.like(self.output(join_heads(heads)))
