"""What the recurrent mixers share: the state after a ragged chunk, and float32 arithmetic under autocast."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from composer.signals import Seq


def last_state(outputs: Tensor, x: Seq, before: Tensor) -> Tensor:
    """(B, D): each row's output at its last real step, or the state before the chunk where it has none."""
    if x.lengths is None:
        return outputs[:, -1]
    index = (x.lengths - 1).clamp(min=0).view(-1, 1, 1).expand(-1, 1, outputs.shape[-1])
    last = outputs.gather(1, index).squeeze(1)  # (B, D)
    return torch.where(x.lengths[:, None] > 0, last, before)


def full_precision(values: Tensor) -> AbstractContextManager:
    """Autocast off: rounding a state to 16 bits at every step would add up."""
    if values.is_meta or not torch.is_autocast_enabled(values.device.type):
        return nullcontext()
    return torch.autocast(values.device.type, enabled=False)
