"""Attention scores: how well a query fits a key.

    dot       q . k / sqrt(K)               Vaswani et al., 2017
    bilinear  q^T W k                       "general" in Luong et al., 2015
    additive  u^T tanh(q + k)               Bahdanau et al., 2015: q and k are W_a s and U_a h
    concat    u^T tanh(W [q; k])            Luong et al., 2015

Each head has its own W and u. The first two are dot products with a transformed query, which torch's fused kernel
computes; the others compute every pair of query and key, and need memory for T x S x K numbers.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

ScoreName = Literal["dot", "bilinear", "additive", "concat"]


class Dot(nn.Module):
    """A dot product times ``scale``."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale

    def queries(self, q: Tensor) -> Tensor:
        return q


class Bilinear(Dot):
    """q^T W k, with W initialised so that the score starts as the scaled dot product."""

    def __init__(self, heads: int, width: int) -> None:
        super().__init__(1.0)
        self.weight = nn.Parameter((torch.eye(width) * width**-0.5).repeat(heads, 1, 1))  # (H, K, K)

    def queries(self, q: Tensor) -> Tensor:
        return q @ self.weight


class Additive(nn.Module):
    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.empty(heads, width, 1))
        nn.init.uniform_(self.vector, -(width**-0.5), width**-0.5)

    def pairs(self, q: Tensor, k: Tensor) -> Tensor:
        """(B, H, T, S) for q (B, H, T, K) and k (B, H, S, K)."""
        sums = torch.tanh(q.unsqueeze(3) + k.unsqueeze(2))  # (B, H, T, S, K)
        return (sums @ self.vector[:, None]).squeeze(-1)


class Concat(Additive):
    """W [q; k] is computed as W_q q + W_k k, without concatenating."""

    def __init__(self, heads: int, width: int) -> None:
        super().__init__(heads, width)
        self.weight = nn.Parameter(torch.empty(2, heads, width, width))
        nn.init.uniform_(self.weight, -((2 * width) ** -0.5), (2 * width) ** -0.5)

    def pairs(self, q: Tensor, k: Tensor) -> Tensor:
        return super().pairs(q @ self.weight[0], k @ self.weight[1])


Score = Dot | Additive


def make_score(name: ScoreName, heads: int, width: int) -> Score:
    if name == "dot":
        return Dot(width**-0.5)
    if name == "bilinear":
        return Bilinear(heads, width)
    return Additive(heads, width) if name == "additive" else Concat(heads, width)
