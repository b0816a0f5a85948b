"""Linear attention: a kernel in place of the softmax makes attention a recurrence, in time linear in the length.

    y_i = phi(q_i)^T S_i / phi(q_i)^T z_i,  phi(x) = elu(x) + 1
    S_i = sum_{j <= i} phi(k_j) v_j^T,  z_i = sum_{j <= i} phi(k_j)

for every head, then W_o; if not causal, the sums are over all j. Katharopoulos et al., 2020. The causal form is
computed in chunks: within a chunk by the attention weights, between chunks by the sums S and z. The normaliser z is the
sum for one more feature of v that is always 1. The state is S and z, concatenated, (B, H, K, K + 1).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer import Positive, Recurrence, Seq, State, cached_for_generation, refuse_to_stream, register, show
from composer.core.streaming.recurrence import full_precision
from composer.core.streaming.streaming_copy import by_columns

from ..attention import head_width, join_heads, split_heads
from ..attention.blocks import block_size, cut


@register("mixer", "linear_attention")
class LinearAttention(Recurrence):
    shows = "attention"

    def __init__(self, dim: int, causal: bool, *, heads: Positive = 4, chunk: Positive = 64, bias: bool = True) -> None:
        super().__init__()
        self.causal = causal
        self.heads = heads
        self.width = head_width(dim, heads)
        self.chunk = chunk
        self.project = nn.Linear(dim, 3 * dim, bias=bias)
        self.output = nn.Linear(dim, dim, bias=bias)

    def start(self, batch: int) -> State:
        if not self.causal:
            refuse_to_stream(self)
        return {"sum": self.project.weight.new_zeros(batch, self.heads, self.width, self.width + 1)}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        B, H, K, before = x.shape[0], self.heads, self.width, state["sum"]
        weight, bias = self._with_ones
        qk, v = F.linear(x, weight, bias).split_with_sizes([2 * H * K, H * (K + 1)], dim=1)
        q, k = F.elu(qk).add_(self._one).view(B, 2, H, K).unbind(1)  # (B, H, K)
        show(self, lambda: self._weights(q[:, :, None], k[:, :, None], before))
        after = torch.addcmul(before, k.unsqueeze(-1), v.view(B, H, 1, K + 1))  # (B, H, K, K + 1)
        heads = self._normalised(torch.bmm(q.reshape(B * H, 1, K), after.view(B * H, K, K + 1)))
        return self.output(heads.view(B, H * K)), {"sum": after}

    @cached_for_generation
    def _with_ones(self) -> tuple[Tensor, Tensor]:
        """W_q, W_k and W_v in one matrix, and their bias, where every head's v has one more feature, always 1."""
        weight, D = self.project.weight, self.heads * self.width
        bias = weight.new_zeros(3 * D) if self.project.bias is None else self.project.bias
        values = F.pad(weight[2 * D :].view(self.heads, self.width, D), (0, 0, 0, 1)).flatten(0, 1)
        ones = F.pad(bias[2 * D :].view(self.heads, self.width), (0, 1), value=1.0).flatten()
        return by_columns(torch.cat([weight[: 2 * D], values])), torch.cat([bias[: 2 * D], ones])

    @cached_for_generation
    def _one(self) -> Tensor:
        """1 as a tensor: adding a number of Python takes twice as long."""
        return torch.ones_like(self.project.weight[0, 0])

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        if state is not None and not self.causal:
            refuse_to_stream(self)
        values = self.project(x.filled()).to(self.project.weight.dtype)
        with full_precision(x.values):
            q, k, v = (split_heads(part, self.heads) for part in values.chunk(3, dim=-1))  # (B, H, T, K)
            q, k, v = F.elu(q) + 1, F.elu(k) + 1, F.pad(v, (0, 1), value=1.0)
            if x.mask is not None:
                k = k * x.mask[:, None, :, None]
            before = None if state is None else state["sum"]
            show(self, lambda: self._weights(q, k, before))
            if self.causal:
                sums, after = self._past(q, k, v, before)
            else:
                sums = q @ (k.transpose(-1, -2) @ v)
            heads = self._normalised(sums)
        y = x.like(self.output(join_heads(heads)))
        return y, None if state is None else {"sum": after}

    def flops(self, time: int) -> int:
        """Projections; k v^T added to S and z, and q S and q z, at every step."""
        sums = 2 * self.heads * self.width * (self.width + 1)
        return 2 * time * (self.project.weight.numel() + self.output.weight.numel() + sums)

    def _normalised(self, sums: Tensor) -> Tensor:
        """(..., K): the sums of weighted values divided by the sum of the weights, the last entry of ``sums``."""
        values, weights = sums.split_with_sizes([self.width, 1], dim=-1)
        return values / _not_zero(weights)

    def _past(self, q: Tensor, k: Tensor, v: Tensor, before: Tensor | None) -> tuple[Tensor, Tensor]:
        """(B, H, T, K + 1), weighted sums of past values, and (B, H, K, K + 1), the state after the last step."""
        T, size = q.shape[2], block_size(self.chunk, q.shape[2])
        q, k, v = (cut(part.flatten(0, 1), size) for part in (q, k, v))  # (B H, N, C, ...)
        each = k.transpose(-1, -2) @ v  # (B H, N, K, K + 1)
        if before is not None:
            each = torch.cat([before.flatten(0, 1)[:, None], each], dim=1)
        else:
            each = F.pad(each, (0, 0, 0, 0, 1, 0))
        carried = each.cumsum(1)  # the state before each chunk, and after the last
        within = (q @ k.transpose(-1, -2)).tril()  # (B H, N, C, C)
        sums = within @ v + q @ carried[:, :-1]
        heads = (-1, self.heads)
        return sums.flatten(1, 2)[:, :T].unflatten(0, heads), carried[:, -1].unflatten(0, heads)

    def _weights(self, q: Tensor, k: Tensor, before: Tensor | None) -> Tensor:
        """(B, H, T, S): the attention weights. The steps before the chunk are one key with their total weight."""
        products = q @ k.transpose(-1, -2)
        if self.causal:
            products = products.tril()
        if before is not None:
            products = torch.cat([q @ before[..., -1:], products], dim=-1)
        return products / _not_zero(products.sum(-1, keepdim=True))


def _not_zero(weights: Tensor) -> Tensor:
    """Sums of weights to divide by. A row without a real step sums to 0; the inverse of the least sum stays finite."""
    return weights.clamp(min=torch.finfo(weights.dtype).tiny ** 0.5)
