"""The linear recurrence h_t = a_t * h_{t-1} + b_t over a whole sequence, the one loop of every gated diagonal mixer.

Cut into about sqrt(T) chunks whose steps run side by side, then carried from chunk to chunk: 2 sqrt(T) operations
on wide tensors instead of T on narrow ones. One autograd function keeps only a and h for the backward pass.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


def scan(a: Tensor, b: Tensor, start: Tensor) -> Tensor:
    """(B, T, D): every h_t, for a and b (B, T, D) and h_0 = start (B, D)."""
    return _Scan.apply(a, b, start)


def _solve(a: Tensor, b: Tensor, start: Tensor) -> Tensor:
    """The recurrence forwards in time, without gradients."""
    B, T, D = a.shape
    length = max(1, math.isqrt(T))
    whole = T - T % length
    h = torch.empty_like(b)
    if whole:
        _solve_chunks(
            a[:, :whole].unflatten(1, (-1, length)), b[:, :whole].unflatten(1, (-1, length)), start,
            h[:, :whole].unflatten(1, (-1, length)),
        )
    for t in range(whole, T):
        torch.addcmul(b[:, t], a[:, t], h[:, t - 1] if t else start, out=h[:, t])
    return h


def _solve_chunks(a: Tensor, b: Tensor, start: Tensor, h: Tensor) -> None:
    """Fill h (B, N, L, D): every chunk from zero at once, then each chunk's beginning carried into it."""
    count, length = a.shape[1:3]
    decay = a.clone()  # the product of a from the chunk's beginning up to each step
    h.copy_(b)
    for step in range(1, length):
        h[:, :, step].addcmul_(a[:, :, step], h[:, :, step - 1])
        decay[:, :, step].mul_(decay[:, :, step - 1])
    carry = torch.empty_like(h[:, :, 0])  # (B, N, D), the state before each chunk
    carry[:, 0] = start
    for chunk in range(1, count):
        torch.addcmul(h[:, chunk - 1, -1], decay[:, chunk - 1, -1], carry[:, chunk - 1], out=carry[:, chunk])
    h.addcmul_(decay, carry.unsqueeze(2))


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, start: Tensor) -> Tensor:
        h = _solve(a, b, start)
        ctx.save_for_backward(a, h, start)
        return h

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """g_t = grad_t + a_{t+1} g_{t+1}: the same recurrence, backwards in time."""
        a, h, start = ctx.saved_tensors
        later = torch.cat([a[:, 1:], torch.zeros_like(a[:, :1])], dim=1).flip(1)
        g = _solve(later, grad.flip(1), torch.zeros_like(start)).flip(1)  # (B, T, D)
        previous = torch.cat([start[:, None], h[:, :-1]], dim=1)
        return g * previous, g, g[:, 0] * a[:, 0]
