"""What attention remembers between chunks: every step, or the last few of each row.

A state is never changed: two continuations of one state do not see each other. Where gradients are on, a longer cache
is a new tensor. Where they are off, a cache is the front of a larger buffer with room behind it, and the next steps
are written there once: whoever continues the same state a second time finds the room taken and gets a buffer of his
own. So a step writes itself alone, and all is copied only when the room runs out, a constant cost for each step in
the mean. In memory the steps of a head lie side by side, as attention reads them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from composer import Seq, State

MARGIN = 64  # steps of room at least


class Room:
    """A buffer and how much of it is written."""

    def __init__(self, buffer: Tensor, written: int) -> None:
        self.buffer = buffer
        self.written = written

    def fits(self, size: int, total: int) -> bool:
        free = self.written == size and total <= self.buffer.shape[1]
        return free and self.buffer.is_inference() == torch.is_inference_mode_enabled()


def extend(cache: Tensor, new: Tensor) -> Tensor:
    """(B, S + T, ...): ``new`` (B, T, ...) behind ``cache`` (B, S, ...), which stays as it is."""
    size, total = cache.shape[1], cache.shape[1] + new.shape[1]
    if size == 0 or torch.is_grad_enabled() or cache.is_meta or torch.compiler.is_compiling():
        return torch.cat([cache, new], dim=1)
    room: Room | None = getattr(cache, "room", None)  # indexing or moving a cache leaves its room behind
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
    """Nothing read yet of steps shaped like ``step``: {"steps": (B, S, ...), "position": (B, S)}.

    ``position`` is each step's place in its row, -1 for padding. Until a chunk is ragged it stays (B, 0): step j is at
    j, nothing is padding and nothing needs a mask.
    """
    return {"steps": step.new_zeros(batch, 0, *step.shape), "position": torch.zeros(batch, 0, dtype=torch.long)}


def arrival(state: State, x: Seq) -> Tensor:
    """(1 or B, T): the place of each new step in its row."""
    known, ahead = state["position"], torch.arange(x.time, device=x.values.device)
    if known.shape[1] == 0:
        return (state["steps"].shape[1] + ahead)[None]
    return known.amax(1, keepdim=True) + 1 + ahead


def append(state: State, x: Seq, now: Tensor, new: Tensor) -> tuple[State, Tensor]:
    """The state with the steps ``new`` that arrived at ``now``, and the place of all its steps, (1 or B, S + T)."""
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
