"""The scan of a selective state space model (Mamba), with its output.

    h_t = exp(s_t A) * h_{t-1} + s_t x_t B_t^T,   y_t = h_t C_t

for a step size s (B, T, D), an input x (B, T, D), decays A (D, N), and B, C (B, T, N) that depend on the input. h has
D x N numbers per step, N times as many as the input, so the states of all steps are never stored. Only the states
between blocks of about sqrt(T) steps are stored, and the backward pass recomputes each block (checkpointing).
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from composer.core.streaming.time_loop import walk

from .linear import time_first
from .solve import solve, spans


def selective(step: Tensor, x: Tensor, a: Tensor, b: Tensor, c: Tensor, start: Tensor) -> tuple[Tensor, Tensor]:
    """Every y_t, (B, T, D), and the state after the last step, (B, D, N), for h_0 = start."""
    if torch.compiler.is_exporting():
        rates = a.t().contiguous()
        last, y = walk(lambda h, now: selective_step(h, rates, *now), start.transpose(1, 2), (step, x, b, c))
        return y, last.transpose(1, 2)
    return _Selective.apply(step, x, a, b, c, start)


def selective_step(h: Tensor, a: Tensor, step: Tensor, x: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """One step of every row: the next h (B, N, D) and y (B, D), for A (N, D), s and x (B, D), and B and C (B, N).

    Here D is the last axis of h, since N is short: an operation runs through the last axis of a tensor fastest.
    """
    entering = (step * x).unsqueeze(1)
    h = (step.unsqueeze(1) * a).exp_().mul_(h).addcmul_(b.unsqueeze(2), entering)  # (B, N, D), in place: memory is slow
    return h, torch.bmm(c.unsqueeze(1), h).squeeze(1)


class _Selective(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, step: Tensor, x: Tensor, a: Tensor, b: Tensor, c: Tensor, start: Tensor
    ) -> tuple[Tensor, Tensor]:
        y = torch.empty_like(x)
        carries = [start]
        for now in _blocks(x.shape[1], start):
            _, _, h = _states(step, x, a, b, now, carries[-1])
            y[:, now] = torch.matmul(h, time_first(c, now)[..., None])[..., 0].transpose(0, 1)  # (B, T, D)
            carries.append(h[-1].clone())
        ctx.save_for_backward(step, x, a, b, c, *carries[:-1])
        return y, carries[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor, last_grad: Tensor) -> tuple[Tensor, ...]:
        step, x, a, b, c, *carries = ctx.saved_tensors
        dstep, dx, db, dc = (torch.empty_like(values) for values in (step, x, b, c))
        da, carry = torch.zeros_like(a), last_grad
        for index, now in reversed(list(enumerate(_blocks(x.shape[1], carry)))):
            size, decay, h = _states(step, x, a, b, now, carries[index])
            dy, u = time_first(grad, now), time_first(x, now)
            dc[:, now] = torch.matmul(dy[:, :, None], h)[:, :, 0].transpose(0, 1)
            g = dy[..., None] * time_first(c, now)[:, :, None]  # (T, B, D, N)
            g[-1].add_(carry)
            solve(decay[1:], g, backwards=True)
            carry = decay[0] * g[0]
            db[:, now] = torch.matmul((size * u)[:, :, None], g)[:, :, 0].transpose(0, 1)
            through = torch.matmul(g, time_first(b, now)[..., None])[..., 0]  # (T, B, D), the gradient of s x
            slope = g.mul_(decay)  # of s A, once the states before each step are multiplied in
            slope[1:].mul_(h[:-1])
            slope[0].mul_(carries[index])
            dx[:, now] = (through * size).transpose(0, 1)
            dstep[:, now] = (through * u + torch.einsum("tbdn,dn->tbd", slope, a)).transpose(0, 1)
            da += torch.einsum("tbdn,tbd->dn", slope, size)
        return dstep, dx, da, db, dc, carry


def _blocks(time: int, like: Tensor) -> list[slice]:
    """Blocks of at least sqrt(T) steps, so that no more states are stored between blocks than inside one block."""
    least = math.isqrt(max(0, time - 1)) + 1
    found = list(spans(time, like))
    if len(found) <= least:
        return found
    return [slice(begin, min(begin + least, time)) for begin in range(0, time, least)]


def _states(step: Tensor, x: Tensor, a: Tensor, b: Tensor, now: slice, carry: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The step sizes (T, B, D), the decays and the states (T, B, D, N) of a block of steps."""
    size = time_first(step, now)
    decay = torch.exp_(size[..., None] * a)
    h = (size * time_first(x, now))[..., None] * time_first(b, now)[:, :, None]
    h[0].addcmul_(decay[0], carry)
    solve(decay[1:], h)
    return size, decay, h
