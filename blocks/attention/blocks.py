"""Time cut into blocks, each with the steps just before (and after) it: local attention in linear time."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from composer.core.streaming.time_loop import open_ended


def block_size(wanted: int, time: int) -> int:
    """The length of blocks: ``wanted``, but no longer than the sequence if its length is known."""
    return wanted if open_ended(time) else min(wanted, time)


def cut(values: Tensor, size: int) -> Tensor:
    """(B, T, ...) -> (B, N, size, ...), with zeros after the last step."""
    time = values.shape[1]
    # While tracing, a few blocks more than needed: no size then is 0 or 1, which tracing would treat as a special case.
    count = time // size + 3 if open_ended(time) else -(-time // size)
    if open_ended(time) or count * size > time:
        values = F.pad(values, (*(0, 0) * (values.dim() - 2), 0, count * size - time))
    return values.unflatten(1, (count, size))


def surround(blocks: Tensor, before: Tensor, after: int = 0) -> Tensor:
    """(B, N, P + C + after, ...): each block (B, N, C, ...) with the P steps before and ``after`` steps after it.

    before: (B, P, ...), the steps before the first block. With more than one block, P and ``after`` are at most C.
    """
    parts = [before[:, None], blocks]
    if open_ended(blocks.shape[1]) or blocks.shape[1] > 1:
        parts[0] = torch.cat([parts[0], blocks[:, :-1, blocks.shape[2] - before.shape[1] :]], dim=1)
    if after:
        heads = blocks[:, 1:, :after]
        parts.append(torch.cat([heads, torch.zeros_like(blocks[:, :1, :after])], dim=1))
    return torch.cat(parts, dim=2)
