"""The scan for given a and b.

    h_t = a_t * h_{t-1} + b_t,   backward pass  g_t = dh_t + a*_{t+1} g_{t+1},  db = g,  da_t = g_t h*_{t-1}

Real or complex (* is the conjugate). It stores a and h for the backward pass.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from composer.core.streaming.time_loop import walk

from .solve import solve, spans


def scan(a: Tensor, b: Tensor, start: Tensor) -> Tensor:
    """(B, T, ...): every h_t, for a and b (B, T, ...) and h_0 = start (B, ...)."""
    if b.shape[1] == 1:
        return torch.addcmul(b, a, start[:, None])
    if torch.compiler.is_exporting():
        return walk(lambda h, now: (torch.addcmul(now[1], now[0], h),) * 2, start, (a, b))[1]
    return _Scan.apply(a, b, start)


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, start: Tensor) -> Tensor:
        h = torch.empty_like(b, memory_format=torch.contiguous_format)
        carry = start
        for now in spans(b.shape[1], start):
            decay, steps = time_first(a, now), time_first(b, now)
            steps[0].addcmul_(decay[0], carry)
            solve(decay[1:], steps)
            h[:, now] = steps.transpose(0, 1)
            carry = steps[-1]
        ctx.save_for_backward(a, h, start)
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        a, h, start = ctx.saved_tensors
        da, db = torch.empty_like(h), torch.empty_like(h)
        carry = torch.zeros_like(start)
        for now in reversed(list(spans(h.shape[1], start))):
            decay, steps = time_first(a, now).conj(), time_first(grad, now)
            steps[-1].add_(carry)
            solve(decay[1:], steps, backwards=True)
            carry = decay[0] * steps[0]
            db[:, now] = steps.transpose(0, 1)
            da[:, now.start] = steps[0] * before(h, start, now).conj()
            earlier = h[:, now.start : now.stop - 1].transpose(0, 1)
            da[:, now.start + 1 : now.stop] = steps[1:].mul_(earlier.conj()).transpose(0, 1)
        return da, db, carry


def time_first(values: Tensor, now: slice) -> Tensor:
    """(T, B, ...): a block of steps (B, T, ...) copied with the steps outermost, each of them contiguous."""
    return values[:, now].transpose(0, 1).clone(memory_format=torch.contiguous_format)


def before(h: Tensor, start: Tensor, now: slice) -> Tensor:
    """(B, ...): the state before a block of steps."""
    return h[:, now.start - 1] if now.start else start
