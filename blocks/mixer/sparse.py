"""Sparse multi-head self-attention, in time and memory T * sqrt(T) for a stride near sqrt(T).

    head_h = softmax over j in A(i) of (Q_h K_h^T / sqrt(K)) V_h,  y = [head_1; ...; head_H] W_o
    strided:  A(i) = {j: |i - j| < stride or stride divides i - j}
    fixed:    A(i) = {j: j in the same block of ``stride`` steps as i, or among the last ``summary`` steps of a block}

and j <= i if it is causal. Child et al., 2019. Near and far keys are scored by two dense products, under one softmax.
The state is the KV cache: the keys and values read so far, (B, S, 2, H, K), and the position of each in its row,
(B, S).
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from composer import Invalid, Positive, Probability, Recipe, Seq, register, show
from composer.core.capabilities import offers
from composer.core.streaming.time_loop import open_ended

from ..attention import never_empty, weights
from ..attention.blocks import cut, surround
from ..attention.multihead import MultiHead
from ..window import window_reach


@register("mixer", "sparse")
class Sparse(MultiHead):
    def __init__(
        self,
        dim: int,
        causal: bool,
        *,
        layout: Literal["strided", "fixed"] = "strided",
        stride: Positive = 32,
        summary: Positive | None = None,
        heads: Positive = 4,
        dropout: Probability = 0.0,
        bias: bool = True,
        position: Recipe | None = None,
    ) -> None:
        super().__init__(dim, causal, heads=heads, dropout=dropout, bias=bias, position=position)
        if summary is not None and layout == "strided":
            raise Invalid("summary", f"{summary} has no effect: blocks have a summary in layout: fixed alone.")
        if (summary or 1) > stride:
            raise Invalid("summary", f"{summary} steps do not fit into blocks of {stride}. Use at most {stride}.")
        self.layout = layout
        self.stride = stride
        self.summary = summary or 1

    def sees(self, queries: Tensor, keys: Tensor) -> Tensor:
        if self.layout == "strided":
            distances = (queries - keys).abs()
            return (distances < self.stride) | (distances % self.stride == 0)
        same = queries.div(self.stride, rounding_mode="floor") == keys.div(self.stride, rounding_mode="floor")
        return same | (keys % self.stride >= self.stride - self.summary)

    def reach(self, time: int) -> int:
        blocks = (time - 1) // self.stride  # apart from the query's own
        if self.layout == "fixed":
            return min(time, self.stride + blocks * self.summary)
        return min(time, window_reach(self.stride, self.causal, time) + blocks)

    def whole(self, x: Seq, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if not open_ended(x.time) and x.time <= self.stride:
            return super().whole(x, q, k, v)
        show(self, lambda: self._weights(x, q, k))
        q, k, v = (cut(part, self.stride) for part in (q, k, v))  # (B, N, C, H, K)
        real = cut(torch.ones_like(x.values[:1, :, 0], dtype=torch.bool) if x.mask is None else x.mask, self.stride)
        scores, mask = zip(self._near(q, k, real), self._far(q, k, real), strict=True)
        hidden = ~never_empty(torch.cat([part.expand(-1, k.shape[1], -1, self.stride, -1) for part in mask], dim=-1))
        found = torch.cat(scores, dim=-1).masked_fill(hidden, float("-inf")).softmax(-1)
        found = F.dropout(found, self.dropout if self.training else 0.0)
        near, far = found.split([part.shape[-1] for part in scores], dim=-1)
        heads = torch.einsum("bnhcl,bnlhk->bnchk", near, self._spans(v))
        if self.layout == "strided":
            heads = heads + torch.einsum("bnhcm,bmchk->bnchk", far, v)
        else:
            heads = heads + torch.einsum("bnhcm,bmhk->bnchk", far, self._summaries(v))
        return heads.flatten(1, 2)[:, : x.time].transpose(1, 2)

    def _near(self, q: Tensor, k: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """The scores, (B, N, H, C, L), and their mask, (1 or B, N, 1, C, L), of each block with the steps near it."""
        keys = self._spans(k)  # (B, N, L, H, K)
        first = 1 - self.stride if self.layout == "strided" else 0  # the first step of a span, relative to its block
        rows = torch.arange(self.stride, device=q.device)
        distances = rows[:, None] - first - torch.arange(keys.shape[2], device=q.device)  # (C, L)
        mask = (distances.abs() < self.stride) & ((distances >= 0) | (not self.causal))
        scores = torch.einsum("bnchk,bnlhk->bnhcl", q, keys) * self.width**-0.5
        if offers(self.position, "bias"):
            scores = scores + self.position.bias(distances, q.dtype)  # (H, C, L)
        return scores, (mask & self._spans(real)[:, :, None])[:, :, None]

    def _far(self, q: Tensor, k: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """The scores, (B, N, H, C, M), and their mask, (1 or B, N, 1, C or 1, M), of each block with the others."""
        block = torch.arange(k.shape[1], device=q.device)
        if self.layout == "strided":
            scores = torch.einsum("bnchk,bmchk->bnhcm", q, k)
            others, real = block, real.transpose(1, 2)[:, None, None]  # (1 or B, 1, 1, C, N)
            distances = (block[:, None, None] - block) * self.stride  # (N, 1, M)
        else:
            scores = torch.einsum("bnchk,bmhk->bnhcm", q, self._summaries(k))
            others, real = block.repeat_interleave(self.summary), self._summaries(real)[:, None, None, None]
            places = torch.arange(k.shape[1] * self.stride, device=q.device).view(1, -1, self.stride)
            distances = places[0][:, :, None] - self._summaries(places)[0]  # (N, C, M)
        mask = others < block[:, None] if self.causal else others != block[:, None]  # (N, M)
        scores = scores * self.width**-0.5
        if offers(self.position, "bias"):
            scores = scores + self.position.bias(distances, q.dtype)  # (N, H, C or 1, M)
        return scores, mask[:, None, None] & real

    def _spans(self, blocks: Tensor) -> Tensor:
        """(B, N, L, ...): the steps near each block (B, N, C, ...)."""
        if self.layout == "fixed":
            return blocks
        near = self.stride - 1
        return surround(blocks, torch.zeros_like(blocks[:, 0, :near]), 0 if self.causal else near)

    def _summaries(self, blocks: Tensor) -> Tensor:
        """(B, M, ...): the last steps of all blocks (B, N, C, ...)."""
        return blocks[:, :, self.stride - self.summary :].flatten(1, 2)

    def _weights(self, x: Seq, q: Tensor, k: Tensor) -> Tensor:
        steps = torch.arange(x.time, device=q.device)
        mask = self.sees(steps[:, None], steps) & ((steps[:, None] >= steps) | (not self.causal))
        if x.mask is not None:
            mask = never_empty(mask & x.mask[:, None, None])
        bias = self.bias(steps, steps, q.dtype)
        return weights(self.score, q.transpose(1, 2), k.transpose(1, 2), mask, None if bias is None else bias[None])
