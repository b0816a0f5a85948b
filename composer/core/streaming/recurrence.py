"""Recurrent blocks: a hidden state is carried from step to step, and the mathematics is one step of every row.

A step is computed in the dtype of the weights, with autocast (mixed precision) off: the errors of rounding a state to
16 bits at every step would add up. ``in_full_precision`` switches autocast off, for single steps and for ``forward``.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor, nn

from composer.core.signals import Seq, State
from composer.core.streaming.time_loop import through_time

#: One step of every row: the output and the next state, for the input (B, D) and the state before.
StateStep = Callable[[Tensor, State], tuple[Tensor, State]]


class Recurrence(nn.Module):
    """A subclass implements ``start`` and ``advance``; ``forward`` over whole sequences is derived from them.

    A block that computes a sequence in parallel, by a fused kernel, a scan or a convolution, overrides ``forward``.
    """

    def start(self, batch: int) -> State:
        """The state before the first step: batch-first tensors by name."""
        raise NotImplementedError

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """One step of every row: the output (B, D) and the next state, for the input (B, D)."""
        raise NotImplementedError

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        if state is None:  # padding is on the right and the last state is dropped, so padding may change it
            outputs, _ = through_time(in_full_precision(self), Seq(x.filled()), self.start(x.batch))
            return x.like(outputs), None
        outputs, after = through_time(in_full_precision(self), x, state)
        return x.like(outputs), after


def full_precision(values: Tensor) -> AbstractContextManager:
    """Autocast off, for the device of these values."""
    if values.is_meta or not torch.is_autocast_enabled(values.device.type):
        return nullcontext()
    return torch.autocast(values.device.type, enabled=False)


def in_full_precision(block: Recurrence) -> StateStep:
    """The step of a recurrence; where autocast is on, with autocast off and the input in the dtype of the weights."""
    like = next((p for p in block.parameters() if p.is_floating_point()), torch.empty(0))
    if isinstance(full_precision(like), nullcontext):
        return block.advance

    def wide(x: Tensor, state: State) -> tuple[Tensor, State]:
        with full_precision(like):
            return block.advance(x.to(like.dtype), state)

    return wide
