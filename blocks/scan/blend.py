"""The scan that blends the hidden state with a candidate, including its gates.

    h_t = (1 - z_t) * h_{t-1} + z_t * n_t

    one gate:   z = sigmoid(k)                                 (minGRU)
    two gates:  z = i / (f + i), f, i = sigmoid(p), sigmoid(q)   (minLSTM)
    n = c; for a positive candidate, c + 1/2 if c >= 0 and sigmoid(c) otherwise

One autograd function computes gates and recurrence, one block of steps at a time, which fits into the CPU's cache. It
stores only its input (the output of a linear layer) and h for the backward pass, which recomputes the gates.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from composer.core.streaming.time_loop import walk

from .linear import before
from .solve import solve, spans

#: Below minus this number, sigmoid(x) and exp(x) are the same number of float64.
CLOSED = 40.0


def blend(raw: Tensor, start: Tensor, positive: bool = False) -> Tensor:
    """(B, T, D): every h_t, for h_0 = start (B, D) and raw (B, T, 2 D) = [k; c] or (B, T, 3 D) = [p; q; c]."""
    if raw.shape[1] == 1:
        return blend_step(raw[:, 0], start, positive)[:, None]
    if torch.compiler.is_exporting():
        return walk(lambda h, now: (blend_step(now, h, positive),) * 2, start, raw)[1]
    return _Blend.apply(raw, start, positive)


def blend_step(raw: Tensor, h: Tensor, positive: bool) -> Tensor:
    """(B, D): a single decoding step, with as few operations as possible: launching them takes most of the time."""
    *gates, n = raw.chunk(raw.size(-1) // h.size(-1), -1)
    z = torch.sigmoid(gates[0] if len(gates) == 1 else F.logsigmoid(gates[1]) - F.logsigmoid(gates[0]))
    if positive:
        n = torch.where(n >= 0, n + 0.5, torch.sigmoid(n))
    return torch.lerp(h, n, z)


class _Blend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, raw: Tensor, start: Tensor, positive: bool) -> Tensor:
        B, T, D = *raw.shape[:2], start.shape[-1]
        h = torch.empty(B, T, D, dtype=raw.dtype, device=raw.device)
        blocks = list(spans(T, start))
        room = _room(blocks, start, 2 * (raw.shape[-1] // D - 1))
        carry = start
        for now in blocks:
            *gates, candidate = _parts(raw, now, D)
            z, steps, *opened = _views(room, now)
            _gate(gates, z, opened)
            _candidate(candidate, positive, steps).mul_(z)
            decay = torch.sub(1, z, out=z)
            steps[0].addcmul_(decay[0], carry)
            solve(decay[1:], steps)
            h[:, now] = steps.transpose(0, 1)
            carry = h[:, now.stop - 1]
        ctx.save_for_backward(raw, h, start)
        ctx.positive = positive
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        raw, h, start = ctx.saved_tensors
        D = start.shape[-1]
        result = torch.empty_like(raw)
        blocks = list(spans(raw.shape[1], start))
        room = _room(blocks, start, 2 * (raw.shape[-1] // D) - 1)
        carry = torch.zeros_like(start)
        for now in reversed(blocks):
            *gates, candidate = _parts(raw, now, D)
            *gate_grads, candidate_grad = _parts(result, now, D)
            z, steps, decay, *opened = _views(room, now)
            _gate(gates, z, opened)
            torch.sub(1, z, out=decay)
            steps.copy_(grad[:, now].transpose(0, 1))
            steps[-1].add_(carry)
            solve(decay[1:], steps, backwards=True)
            carry = decay[0] * steps[0]
            steps.mul_(z)  # the gradient of n
            candidate_grad.copy_(steps)
            if ctx.positive:
                s = torch.sigmoid(candidate)
                candidate_grad.mul_(torch.where(candidate >= 0, 1, s * (1 - s)))
            decay.mul_(steps)
            difference = _candidate(candidate, ctx.positive, z)  # n_t - h_{t-1}
            difference[0].sub_(before(h, start, now))
            difference[1:].sub_(h[:, now.start : now.stop - 1].transpose(0, 1))
            _gate_backward(difference, decay, opened, gate_grads)
        return result, carry, None


def _room(blocks: list[slice], like: Tensor, count: int) -> list[Tensor]:
    """Tensors (T, B, D) for the longest block, reused by every block: allocating memory is slow."""
    longest = max(block.stop - block.start for block in blocks)
    return [like.new_empty(longest, *like.shape) for _ in range(count)]


def _views(room: list[Tensor], now: slice) -> list[Tensor]:
    return [tensor[: now.stop - now.start] for tensor in room]


def _parts(packed: Tensor, now: slice, width: int) -> tuple[Tensor, ...]:
    """Views (T, B, D) of the parts of a block of steps: the gates, then the candidate."""
    return packed[:, now].transpose(0, 1).split(width, dim=-1)


def _gate(gates: list[Tensor], z: Tensor, opened: list[Tensor]) -> None:
    """Fill z, and with two gates the sigmoids f and i (``opened``) from which z is computed.

    If both gates are closed so far that their sigmoids could become zero, both logits are raised by the same amount.
    That leaves i / (f + i) as it is: below -CLOSED, a sigmoid is an exponential to the last digit.
    """
    if len(gates) == 1:
        torch.sigmoid(gates[0], out=z)
        return
    lack = torch.maximum(gates[0], gates[1], out=z).clamp_(max=-CLOSED).add_(CLOSED)  # 0, unless both are closed
    f, i = (torch.sub(gate, lack, out=out).sigmoid_() for gate, out in zip(gates, opened, strict=True))
    torch.add(f, i, out=z)
    torch.div(i, z, out=z)


def _gate_backward(difference: Tensor, slope: Tensor, opened: list[Tensor], grads: list[Tensor]) -> None:
    """Fill the gates' gradients. difference * slope is the gradient of z's logit: k, or log i - log f."""
    if len(grads) == 1:
        torch.mul(difference, slope, out=grads[0])
        return
    difference.mul_(slope)
    f, i = opened
    torch.mul(difference, f.sub_(1), out=grads[0])
    torch.mul(difference, torch.sub(1, i, out=i), out=grads[1])


def _candidate(raw: Tensor, positive: bool, out: Tensor) -> Tensor:
    """Fill ``out`` with the candidate n."""
    if not positive:
        return out.copy_(raw)
    return out.copy_(torch.where(raw >= 0, raw + 0.5, torch.sigmoid(raw)))
