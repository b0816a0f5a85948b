"""What the recurrent mixers share: the state after a ragged chunk, and float32 arithmetic under autocast."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer.signals import Seq


def last_state(outputs: Tensor, x: Seq, before: Tensor) -> Tensor:
    """(B, D): each row's output at its last real step, or the state before the chunk where it has none."""
    if x.lengths is None:
        return outputs[:, -1]
    index = (x.lengths - 1).clamp(min=0).view(-1, 1, 1).expand(-1, 1, outputs.shape[-1])
    last = outputs.gather(1, index).squeeze(1)  # (B, D)
    return torch.where(x.lengths[:, None] > 0, last, before)


def unroll(cell: nn.RNNBase, values: Tensor, *before: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A torch.nn recurrence over (B, T, D) from its first states (B, D): the outputs, and the states after the last step.

    For shapes alone the steps' products are taken side by side: the same count of operations, without T small ones.
    """
    if values.is_meta:
        F.linear(values, cell.weight_ih_l0), F.linear(values, cell.weight_hh_l0)
        return torch.empty_like(values), before
    first = before[0][None] if len(before) == 1 else tuple(state[None] for state in before)
    outputs, last = cell(values, first)
    return outputs, (last[0],) if len(before) == 1 else tuple(state[0] for state in last)


def full_precision(values: Tensor) -> AbstractContextManager:
    """Autocast off: rounding a state to 16 bits at every step would add up."""
    if values.is_meta or not torch.is_autocast_enabled(values.device.type):
        return nullcontext()
    return torch.autocast(values.device.type, enabled=False)
