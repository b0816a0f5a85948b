"""The size of a signal: the root mean square of its values over real steps."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.signals import Signal, Timed


def rms(signal: Signal, values: Tensor | None = None) -> float:
    """The root mean square of a signal, or of other values of the same shape, without padding."""
    values = signal.values if values is None else values
    mask = signal.mask if isinstance(signal, Timed) else None
    return _root(values if mask is None else values[mask])


def rms_at_ends(signal: Signal, values: Tensor) -> tuple[float, float] | None:
    """The root mean square at every row's first and at its last real step; None without a time axis."""
    if not isinstance(signal, Timed):
        return None
    rows = torch.arange(signal.batch)[signal.counts > 0]
    return _root(values[rows, 0]), _root(values[rows, signal.counts[rows] - 1])


def _root(values: Tensor) -> float:
    return float(values.detach().double().square().mean().sqrt())


def times(large: float, small: float) -> float:
    """How many times larger one size is than another; infinity if the other is zero."""
    return large / small if small > 0 else (1.0 if large == 0 else float("inf"))
