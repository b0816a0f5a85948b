"""Attention as a weighted mean of values.

    y_i = sum_j a_ij v_j,  a_i = softmax over j of score(q_i, k_j) + bias_ij, over the keys visible to query i

for every head. Torch's fused kernel computes it if the score is a dot product.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .heads import repeat_heads
from .scores import Dot, Score


def attend(
    score: Score,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Tensor:
    """(B, H, T, K) for q (B, H, T, K) and k, v (B, G, S, K), where G divides H.

    mask: True where a key is visible to a query; bias: added to the scores; both broadcast to (B, H, T, S).
    causal: a key is visible to the queries of its own and later steps; in place of a mask, for T = S.
    """
    if not isinstance(score, Dot):
        found = _softmax(score, q, k, mask, bias, causal)
        return F.dropout(found, dropout) @ repeat_heads(v, q.shape[1])
    q, grouped = score.queries(q), q.shape[1] != k.shape[1]
    if bias is not None:
        mask, causal = _hide(bias, mask, causal).to(q.dtype), False
    return F.scaled_dot_product_attention(
        q, k, v, mask, dropout, is_causal=causal, scale=score.scale, enable_gqa=grouped
    )


def weights(
    score: Score, q: Tensor, k: Tensor, mask: Tensor | None = None, bias: Tensor | None = None, causal: bool = False
) -> Tensor:
    """(B, H, T, S): the attention weights, for inspection."""
    with torch.no_grad():
        return _softmax(score, q, k, mask, bias, causal)


def never_empty(mask: Tensor) -> Tensor:
    """The mask with all keys visible to a query that has none: its output is padding, but NaN would spoil gradients."""
    return mask | ~mask.any(-1, keepdim=True)


def _softmax(score: Score, q: Tensor, k: Tensor, mask: Tensor | None, bias: Tensor | None, causal: bool) -> Tensor:
    k = repeat_heads(k, q.shape[1])
    scores = score.queries(q) @ k.transpose(-1, -2) * score.scale if isinstance(score, Dot) else score.pairs(q, k)
    if bias is not None:
        scores = scores + bias
    return _hide(scores, mask, causal).softmax(-1)


def _hide(scores: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
    if causal:
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    return scores if mask is None else scores.masked_fill(~mask, float("-inf"))
