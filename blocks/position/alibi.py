"""Positions as a linear bias (ALiBi): a score falls with the distance between query and key.

    score_ij <- score_ij - m_h |i - j|,  m_h = 2^(-8h/H) for h = 1..H

if H is a power of two; otherwise the slopes for the next lower power of two, and every second slope for the next higher
one. Press et al., 2022. It works only inside attention: as a ``bias`` on the scores, or without a T x T tensor as a
``tilt``, one more feature of queries and keys. No state.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer import register


@register("position", "alibi")
class ALiBi(nn.Module):
    causal = True
    enters = "attention"

    def __init__(self, heads: int, causal: bool) -> None:
        super().__init__()
        self.slopes = slopes(heads)

    def bias(self, distances: Tensor, dtype: torch.dtype) -> Tensor:
        """(..., H, T, S) for distances i - j, (..., T, S)."""
        slope = torch.tensor(self.slopes, dtype=dtype, device=distances.device)
        return distances.abs().unsqueeze(-3) * -slope[:, None, None]

    def tilt(self, q: Tensor, k: Tensor, v: Tensor, scale: float) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, T, H, K), keys and values (B, T, G, K) with one more feature, whose product is m_h j / scale.

        If all keys are in the past, -m_h (i - j) equals m_h j plus a number that is the same for all keys of a query,
        and such a number does not change the softmax. Positions are counted from the middle, to keep them small.
        """
        B, T = q.shape[:2]
        slope = torch.tensor(self.slopes, dtype=q.dtype, device=q.device)[:, None] / scale  # (H, 1)
        place = torch.arange(T, dtype=q.dtype, device=q.device).sub(T // 2)[:, None, None]  # (T, 1, 1)
        q = torch.cat([q, slope.expand(B, T, -1, -1)], dim=-1)
        k = torch.cat([k, place.expand(B, -1, k.shape[2], -1)], dim=-1)
        return q, k, F.pad(v, (0, 1))


def slopes(heads: int) -> list[float]:
    power = 2 ** math.floor(math.log2(heads))
    even = [2 ** (-8 * (head + 1) / power) for head in range(power)]
    return even if power == heads else even + slopes(2 * power)[::2][: heads - power]
