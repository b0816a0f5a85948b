"""Rows of several sources as one batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from composer.core.signals import Signal, Timed


def joined(signals: Sequence[Signal], order: Tensor) -> Signal:
    """The rows of signals of one kind, padded to the longest of them.

    order: (B,), for every row of the result its number among the rows of all signals, one signal after the other
    """
    first = signals[0]
    if not isinstance(first, Timed):
        return replace(first, values=torch.cat([signal.values for signal in signals]).index_select(0, order))
    timed = [signal for signal in signals if isinstance(signal, Timed)]
    assert len(timed) == len(signals), "a field has one kind in all sources"
    time = max(signal.time for signal in timed)
    values = torch.cat([_padded(signal.values, time) for signal in timed]).index_select(0, order)
    lengths = torch.cat([signal.counts for signal in timed]).index_select(0, order)
    return replace(first, values=values, lengths=None if bool((lengths == time).all()) else lengths)


def _padded(values: Tensor, time: int) -> Tensor:
    """(B, time, ...), with zeros in the new steps."""
    B, have, *width = values.shape
    return values if have == time else torch.cat([values, values.new_zeros(B, time - have, *width)], dim=1)
