"""Retention: linear attention with exponential decay, at a different rate for each head.

    S_t = g_h S_{t-1} + k_t v_t^T,  o_t = q_t^T S_t,  g_h = 1 - 2^(-5-h) for h = 0..H-1
    y_t = (swish(x_t W_g) * norm(o_t)) W_o

with q and k rotated by their position (rotary) and k scaled by 1/sqrt(K); the norm is over each head by itself. Sun et
al., 2023 (RetNet). It is computed in chunks: within a chunk by the decaying weights, between chunks by S. The state is
S, (B, H, K, K), and the number of steps read, (B,).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer import Invalid, Positive, Recurrence, Scale, Seq, State, cached_for_generation, register
from composer.core.streaming.recurrence import full_precision
from composer.core.streaming.streaming_copy import by_columns
from composer.core.streaming.time_loop import walk

from ..attention import head_width, join_heads, split_heads
from ..attention.blocks import block_size, cut
from ..position.rotary import Rotary


@register("mixer", "retention")
class Retention(Recurrence):
    causal = True

    def __init__(
        self, dim: int, *, heads: Positive = 4, chunk: Positive = 64, base: Scale = 10000.0, bias: bool = True
    ) -> None:
        super().__init__()
        self.heads = heads
        self.width = head_width(dim, heads)
        if self.width % 2:
            raise Invalid("heads", f"{heads} heads of width {self.width}: pairs of features turn, so it must be even.")
        self.chunk = chunk
        self.turn = Rotary(self.width, base=base)
        self.project = nn.Linear(dim, 4 * dim, bias=bias)
        self.output = nn.Linear(dim, dim, bias=bias)

    def start(self, batch: int) -> State:
        memory = self.project.weight.new_zeros(batch, self.heads, self.width, self.width)
        return {"memory": memory, "count": torch.zeros(batch, dtype=torch.long)}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        B, H, K = x.shape[0], self.heads, self.width
        weight, bias = self._scaled
        qk, v, gate = F.linear(x, weight, bias).view(B, 4 * H, K).split_with_sizes([2 * H, H, H], dim=1)
        q, k = self.turn.rotate(qk, state["count"].unsqueeze(1)).split_with_sizes([H, H], dim=1)  # (B, H, K)
        memory = (self._kept * state["memory"]).addcmul_(k.unsqueeze(-1), v.unsqueeze(-2))  # (B, H, K, K)
        read = torch.bmm(q.reshape(B * H, 1, K), memory.view(B * H, K, K))
        read = F.layer_norm(read, (K,)).view(B, H, K)
        y = self.output(F.silu(gate).mul_(read).view(B, H * K))
        return y, {"memory": memory, "count": state["count"] + self._one}

    @cached_for_generation
    def _scaled(self) -> tuple[Tensor, Tensor | None]:
        """W_q, W_k, W_v and W_g in one matrix, and their bias, with the factor 1 / sqrt(K) of k."""
        scales = torch.ones_like(self.project.weight[:, 0])
        scales.view(4, -1)[1] = self.width**-0.5
        bias = self.project.bias
        return by_columns(scales[:, None] * self.project.weight), None if bias is None else scales * bias

    @cached_for_generation
    def _one(self) -> Tensor:
        """1 as a tensor: adding a number of Python takes twice as long."""
        return torch.ones((), dtype=torch.long, device=self.output.weight.device)

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        steps = torch.arange(x.time, device=x.values.device)  # (T,)
        now = steps if state is None else (state["count"][:, None] + steps)[:, None]  # (T,) or (B, 1, T)
        *heads, gate = self.project(x.filled()).to(self.project.weight.dtype).chunk(4, dim=-1)
        with full_precision(x.values):
            q, k, v = (split_heads(part, self.heads) for part in heads)  # (B, H, T, K)
            q, k = self.turn.rotate(q, now), self.turn.rotate(k, now) * self.width**-0.5
            before = None if state is None else state["memory"]
            read = F.layer_norm(self._read(q, k, v, before), (self.width,))
            y = x.like(self.output(F.silu(gate) * join_heads(read)))
            if state is None or before is None:
                return y, None
            return y, {"memory": self._after(k, v, before, x), "count": state["count"] + x.counts}

    def flops(self, time: int) -> int:
        """Projections; k v^T added to S, and q S, at every step."""
        sums = 2 * self.heads * self.width**2
        return 2 * time * (self.project.weight.numel() + self.output.weight.numel() + sums)

    def _pace(self) -> Tensor:
        """(H, 1): log g, where g is the share of S that each head keeps from one step to the next."""
        head = torch.arange(self.heads, device=self.output.weight.device, dtype=torch.float64)
        return torch.log1p(-(2.0 ** (-5 - head)))[:, None]

    @cached_for_generation
    def _kept(self) -> Tensor:
        """(H, 1, 1): g, the decay of each head."""
        return self._pace().exp().to(self.output.weight.dtype)[..., None]

    def _read(self, q: Tensor, k: Tensor, v: Tensor, before: Tensor | None) -> Tensor:
        """(B, H, T, K): o, the heads' outputs before the norm."""
        (B, H, T, _), size = q.shape, block_size(self.chunk, q.shape[2])
        q, k, v = (cut(part.flatten(0, 1), size).unflatten(0, (B, H)) for part in (q, k, v))  # (B, H, N, C, K)
        steps, pace = torch.arange(size, device=q.device), self._pace()
        distances = steps[:, None] - steps
        decay = (pace[..., None] * distances.clamp(min=0)).exp().tril().to(q.dtype)  # (H, C, C)
        since = (pace * (steps + 1)).exp().to(q.dtype)  # (H, C), decay from the step before the chunk
        until = (pace * (size - 1 - steps)).exp().to(q.dtype)  # (H, C), decay to the chunk's last step
        added = (k * until[:, None, :, None]).transpose(-1, -2) @ v  # (B, H, N, K, K)
        across = (pace * size).exp().to(q.dtype)[..., None]  # (H, 1, 1)
        memory = torch.zeros_like(added[:, :, 0]) if before is None else before
        _, memories = walk(lambda now, chunk: (now * across + chunk, now), memory, added.transpose(1, 2))
        within = (q @ k.transpose(-1, -2)) * decay[:, None]  # (B, H, N, C, C)
        o = within @ v + (q @ memories.transpose(1, 2)) * since[:, None, :, None]
        return o.flatten(2, 3)[:, :, :T]

    def _after(self, k: Tensor, v: Tensor, before: Tensor, x: Seq) -> Tensor:
        """(B, H, K, K): S after the last real step of each row."""
        pace, ends = self._pace(), x.counts[:, None, None]  # (H, 1), (B, 1, 1)
        left = ends - 1 - torch.arange(x.time, device=k.device)  # (B, 1, T), steps until the last
        kept = (pace * left.clamp(min=0)).exp().masked_fill(left < 0, 0).to(k.dtype)  # (B, H, T)
        return (k * kept[..., None]).transpose(-1, -2) @ v + before * (pace * ends).exp().to(k.dtype)[..., None]
