"""Multi-head self-attention over a window of nearby steps, in time and memory linear in the length.

    head_h = softmax over |i - j| < window of (Q_h K_h^T / sqrt(K)) V_h,  y = [head_1; ...; head_H] W_o

The window includes the step itself; if causal, j <= i. Time is cut into blocks as long as the window; each block
attends to itself and to the block before (and after), all in one call of the fused kernel. Beltagy et al., 2020
(Longformer). The state is the KV cache of the last window - 1 steps, (B, window - 1, 2, G, K), and the number of steps
read, (B,).
"""

from __future__ import annotations

import torch
from torch import Tensor

from composer import Positive, Probability, Recipe, Seq, State, refuse_to_stream, register, show
from composer.core.capabilities import offers
from composer.core.streaming.time_loop import open_ended

from ..attention import attend, never_empty, weights
from ..attention.blocks import block_size, cut, surround
from ..attention.multihead import MultiHead
from ..window import recent, window_reach


@register("mixer", "sliding_window")
class SlidingWindow(MultiHead):
    def __init__(
        self,
        dim: int,
        causal: bool,
        *,
        window: Positive = 64,
        heads: Positive = 4,
        kv_heads: Positive | None = None,
        dropout: Probability = 0.0,
        bias: bool = True,
        position: Recipe | None = None,
    ) -> None:
        super().__init__(dim, causal, heads=heads, kv_heads=kv_heads, dropout=dropout, bias=bias, position=position)
        self.window = window

    def start(self, batch: int) -> State:
        if not self.causal:
            refuse_to_stream(self)
        past = self.project.weight.new_zeros(batch, self.window - 1, 2, self.kv_heads, self.width)
        return {"steps": past, "count": torch.zeros(batch, dtype=torch.long)}

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        steps = torch.arange(x.time, device=x.values.device)  # (T,)
        if state is None:
            q, k, v = self.split(x, steps)
            if not open_ended(x.time) and x.time <= self.window:
                return self.join(x, self.whole(x, q, k, v)), None
            kv = torch.stack([k, v], dim=2)  # (B, T, 2, G, K)
            return self.join(x, self._near(x, q, kv, kv.new_zeros(x.batch, self.window - 1, *kv.shape[2:]), None)), None
        if not self.causal:
            refuse_to_stream(self)
        q, k, v = self.split(x, state["count"][:, None] + steps)
        kv = torch.stack([k, v], dim=2)
        heads = self._near(x, q, kv, state["steps"].to(kv.dtype), state["count"])
        steps = torch.cat([state["steps"], kv.to(state["steps"].dtype)], dim=1)
        following = {"steps": recent(steps, x, self.window - 1), "count": state["count"] + x.counts}
        return self.join(x, heads), following

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        count, past = state["count"], state["steps"]
        q, k, v = self.split(Seq(x[:, None]), count[:, None])  # (B, 1, H or G, K)
        steps = torch.cat([past, torch.stack([k, v], dim=2).to(past.dtype)], dim=1)  # (B, window, 2, G, K)
        distances = torch.arange(self.window - 1, -1, -1, device=x.device)[None]  # (1, window)
        mask = (distances <= count[:, None])[:, None, None]  # (B, 1, 1, window): fewer steps may have been read
        bias = self.position.bias(distances, q.dtype) if offers(self.position, "bias") else None  # (H, 1, window)
        k, v = steps.to(q.dtype).unbind(2)
        found = self.mean(q, k, v, mask, bias)  # (B, H, 1, K)
        return self.output(found.flatten(1)), {"steps": steps[:, 1:], "count": count + 1}

    def _near(self, x: Seq, q: Tensor, kv: Tensor, past: Tensor, count: Tensor | None) -> Tensor:
        """(B, H, T, K): each step over its window, which may reach into ``past``, of which ``count`` steps are real."""
        back, size = self.window - 1, block_size(self.window, x.time)
        ahead = 0 if self.causal else back
        queries = cut(q, size)  # (B, N, C, H, K)
        spans = surround(cut(kv, size), past, ahead)  # (B, N, L, 2, G, K)
        known, real = self._real(x, count)
        real = surround(cut(real, size), known, ahead)  # (1 or B, N, L)
        rows = torch.arange(size, device=q.device)[:, None]
        distances = rows + back - torch.arange(spans.shape[2], device=q.device)  # (C, L)
        mask = never_empty(self._band(distances) & real[:, :, None])  # (1 or B, N, C, L)
        mask = mask.expand(x.batch, -1, -1, -1).flatten(0, 1)[:, None]  # (B N, 1, C, L)
        k, v = spans.flatten(0, 1).unbind(2)  # (B N, L, G, K)
        bias = self.position.bias(distances, q.dtype)[None] if offers(self.position, "bias") else None
        show(self, lambda: self._weights(x, q, kv, past, count))
        heads = attend(
            self.score,
            queries.flatten(0, 1).transpose(1, 2),
            k.transpose(1, 2),
            v.transpose(1, 2),
            mask=mask,
            bias=bias,
            dropout=self.dropout if self.training else 0.0,
        )  # (B N, H, C, K)
        return heads.transpose(1, 2).unflatten(0, queries.shape[:2]).flatten(1, 2)[:, : x.time].transpose(1, 2)

    def sees(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        return None if self.causal and queries.shape[0] <= self.window else (queries - keys).abs() < self.window

    def reach(self, time: int) -> int:
        return window_reach(self.window, self.causal, time)

    def _band(self, distances: Tensor) -> Tensor:
        return (distances.abs() < self.window) & ((distances >= 0) | (not self.causal))

    def _real(self, x: Seq, count: Tensor | None) -> tuple[Tensor, Tensor]:
        """The masks of real steps, (1 or B, window - 1) for the past and (1 or B, T) for the chunk.

        If causal, the chunk's padding may count as real: it is later than every real step, so no real step reads it.
        """
        slots = torch.arange(self.window - 1, 0, -1, device=x.values.device)
        if count is not None:
            return slots <= count[:, None], torch.ones_like(x.values[..., 0], dtype=torch.bool)
        if x.mask is None or self.causal:
            return (slots < 0)[None], torch.ones_like(x.values[:1, :, 0], dtype=torch.bool)
        return (slots < 0).expand(x.batch, -1), x.mask

    def _weights(self, x: Seq, q: Tensor, kv: Tensor, past: Tensor, count: Tensor | None) -> Tensor:
        """(B, H, T, S): the attention weights over the past, if there is one, and the chunk."""
        known, real = self._real(x, count)
        if count is None:
            past, known = past[:, :0], known[:, :0]
        back = past.shape[1]
        steps = torch.arange(x.time, device=q.device)
        distances = steps[:, None] + back - torch.arange(back + x.time, device=q.device)  # (T, S)
        mask = never_empty(self._band(distances) & torch.cat([known, real], dim=1)[:, None])[:, None]
        bias = self.position.bias(distances, q.dtype)[None] if offers(self.position, "bias") else None
        k = torch.cat([past, kv], dim=1)[:, :, 0]
        return weights(self.score, q.transpose(1, 2), k.transpose(1, 2), mask, bias)
