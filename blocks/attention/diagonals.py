"""Attention with a bias on its scores that depends on the distance alone: one number for every diagonal.

Torch's fused kernel adds a bias but computes no gradient for it. If the bias is learned, torch falls back to T x T
tensors for every row of the batch. Here the fused kernel computes the output and the gradients of q, k and v, and the
gradient of the bias is computed separately, for some queries at a time:

    dS = P * (dO V^T - rowsum(dO * O)),  dbias = sum over the batch and along each diagonal of dS
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

ROWS = 256  # queries at a time


def distances(time: int, device: torch.device) -> Tensor:
    """(2 T - 1,): the distance i - j of every diagonal of a T x T matrix, from T - 1 down to 1 - T."""
    return torch.arange(time - 1, -time, -1, device=device)


def spread(row: Tensor, causal: bool = False) -> Tensor:
    """(H, T, T) from its diagonals (H, 2 T - 1); if causal, -inf where the key is later than the query."""
    bias = row.unfold(-1, (row.shape[-1] + 1) // 2, 1).flip(1)
    if causal:
        later = torch.ones(bias.shape[1:], dtype=torch.bool, device=row.device).triu_(1)
        bias = bias.masked_fill_(later, float("-inf"))
    return bias


def attend_with_diagonals(q: Tensor, k: Tensor, v: Tensor, row: Tensor, scale: float, causal: bool) -> Tensor:
    """(B, H, T, K) for q, k and v (B, H, T, K) and the bias of every diagonal, (H, 2 T - 1), which gets a gradient."""
    return _Diagonals.apply(q, k, v, row, scale, causal)


class _Diagonals(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, row: Tensor, scale: float, causal: bool) -> Tensor:
        ctx.bias, ctx.scale, ctx.causal = spread(row.detach(), causal)[None], scale, causal
        with torch.enable_grad():  # keeps the fused kernel's backward pass, which ours calls
            q, k, v = ctx.parts = tuple(part.detach().requires_grad_() for part in (q, k, v))
            ctx.out = F.scaled_dot_product_attention(q, k, v, ctx.bias, scale=scale)
        return ctx.out.detach()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        parts = torch.autograd.grad(ctx.out, ctx.parts, grad, retain_graph=True)
        q, k, v = (part.detach() for part in ctx.parts)
        row = _row_gradient(q * ctx.scale, k, v, ctx.bias[0], ctx.out.detach(), grad, ctx.causal)
        return *parts, row, None, None


def _row_gradient(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, out: Tensor, grad: Tensor, causal: bool) -> Tensor:
    """(H, 2 T - 1): the gradient of the bias of every diagonal."""
    time = q.shape[2]
    found = bias.new_zeros(bias.shape[0], 2 * time - 1)
    means = (grad * out).sum(-1, keepdim=True)  # (B, H, T, 1)
    for head in range(q.shape[1]):
        for first in range(0, time, ROWS):
            last = min(first + ROWS, time)
            rows, keys = slice(first, last), slice(0, last if causal else time)
            scores = q[:, head, rows] @ k[:, head, keys].transpose(-1, -2)  # (B, R, S)
            weights = scores.add_(bias[head, rows, keys]).softmax(-1)
            pulls = grad[:, head, rows] @ v[:, head, keys].transpose(-1, -2)
            sums = _along_diagonals(pulls.sub_(means[:, head, rows]).mul_(weights).sum(0))
            found[head, time - last : time - last + len(sums)] += sums
    return found


def _along_diagonals(matrix: Tensor) -> Tensor:
    """(R + S - 1,): the sum of every diagonal of (R, S), from the lower left corner.

    Viewing the padded matrix with rows that are one number shorter aligns each diagonal in one column.
    """
    R, S = matrix.shape
    return F.pad(matrix.flip(0), (0, R)).flatten()[: R * (R + S - 1)].view(R, R + S - 1).sum(0)
