"""The KV cache: the keys and values of all steps that attention has read.

A state is never changed: two continuations of one state (beam search) are independent. With gradients on, appending
makes a new tensor. With gradients off, a cache is a view of the front of a larger buffer, and appended steps are
written into the free part of the buffer. Each free place is written once: a second continuation of the same state finds
the place taken and copies the cache to a buffer of its own. So a decoding step writes one step only, and the whole
cache is copied only when its buffer is full, which is an amortised constant cost per step. In memory, the steps of one
head are contiguous, as attention reads them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from composer import Seq, State

MARGIN = 64  # the least number of free steps of a new buffer


class Room:
    """A buffer and the number of its steps that are written."""

    def __init__(self, buffer: Tensor, written: int) -> None:
        self.buffer = buffer
        self.written = written

    def fits(self, size: int, total: int) -> bool:
        free = self.written == size and total <= self.buffer.shape[1]
        return free and self.buffer.is_inference() == torch.is_inference_mode_enabled()


def extend(cache: Tensor, new: Tensor) -> Tensor:
    """(B, S + T, ...): ``new`` (B, T, ...) appended to ``cache`` (B, S, ...), which is not changed."""
    size, total = cache.shape[1], cache.shape[1] + new.shape[1]
    if size == 0 or torch.is_grad_enabled() or cache.is_meta or torch.compiler.is_compiling():
        return torch.cat([cache, new], dim=1)
    room: Room | None = getattr(cache, "room", None)  # a cache that was indexed or moved has no buffer
    if room is None or not room.fits(size, total):
        length = total + max(MARGIN, total // 2)
        buffer = cache.new_empty(cache.shape[0], *cache.shape[2:-1], length, cache.shape[-1]).movedim(-2, 1)
        buffer[:, :size] = cache
        room = Room(buffer, size)
    room.buffer[:, size:total] = new
    room.written = total
    longer = room.buffer[:, :total]
    longer.room = room  # type: ignore[attr-defined]
    return longer


def empty(step: Tensor, batch: int) -> State:
    """An empty cache for steps shaped like ``step``: {"steps": (B, S, ...), "position": (B, S)}, here with S = 0.

    ``position`` is each step's index in its row, -1 for padding. As long as no chunk is ragged, ``position`` stays
    (B, 0): the index of step j is j, there is no padding, and no mask is needed.
    """
    return {"steps": step.new_zeros(batch, 0, *step.shape), "position": torch.zeros(batch, 0, dtype=torch.long)}


def arrival(state: State, x: Seq) -> Tensor:
    """(1 or B, T): the index of each new step in its row."""
    known, ahead = state["position"], torch.arange(x.time, device=x.values.device)
    if known.shape[1] == 0:
        return (state["steps"].shape[1] + ahead)[None]
    return known.amax(1, keepdim=True) + 1 + ahead


def append(state: State, x: Seq, now: Tensor, new: Tensor) -> tuple[State, Tensor]:
    """The state with the steps ``new`` at indices ``now`` appended, and the indices of all steps, (1 or B, S + T)."""
    known, past = state["position"], state["steps"].shape[1]
    steps = extend(state["steps"], new)
    if x.lengths is None and known.shape[1] == 0:
        return {"steps": steps, "position": known}, torch.arange(steps.shape[1], device=steps.device)[None]
    if known.shape[1] == 0:
        known = torch.arange(past, device=steps.device).expand(x.batch, -1)
    arrived = now.expand(x.batch, -1)
    if x.mask is not None:
        arrived = arrived.masked_fill(~x.mask, -1)
    places = torch.cat([known, arrived], dim=1)
    return {"steps": steps, "position": places}, places
