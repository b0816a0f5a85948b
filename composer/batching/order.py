"""Orders of the rows of a split: permutations computed place by place, so that no permutation is held in memory."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.data.counter_random import mix, uniform


def permuted(places: Tensor, size: int, seed: int, name: str) -> Tensor:
    """The rows at these places of the permutation of range(size) that the seed and the name determine.

    A Feistel network on the next power of four is a bijection; a value past the end is put through the network again
    until it is below ``size`` (cycle walking, Black and Rogaway, 2002).
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    keys = (uniform(seed, name, torch.tensor([0]), 4)[0] * 2**53).long()

    def once(values: Tensor) -> Tensor:
        left, right = values >> half, values & mask
        for key in keys:
            left, right = right, left ^ (mix(right + key) & mask)
        return (left << half) | right

    found = once(places.long())
    while bool((outside := found >= size).any()):
        found = torch.where(outside, once(found), found)
    return found


def drawn(places: Tensor, size: int) -> Tensor:
    """The rows at these places of the drawn order, the fixed random order in which every evaluation reads a split.

    Files are often sorted by class or length, so their first rows are not a random sample. The drawn order depends only
    on the size of the split. So all runs are evaluated on the same rows, and a smaller sample is always a subset of a
    larger one.
    """
    return permuted(places, size, 0, "drawn")


def drawn_rows(size: int, count: int | None = None) -> Tensor:
    """The first ``count`` rows of the drawn order; all rows where ``count`` is None."""
    return drawn(torch.arange(size if count is None else min(count, size)), size)
