"""Which rows go into which batch: by length, under a budget, the same for the same seed, resumable and shardable.

An epoch is a random order of the rows, taken a pool at a time; a pool is sorted by length, cut into batches and those
are shuffled. The order is a keyed permutation that is computed, not stored: a pool can be planned alone, and the whole
state is two integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from composer.data.draws import mix, uniform
from composer.data.source import Source, Split
from composer.problems import Invalid
from composer.signals import Signal

#: Batches' worth of rows that are sorted by length together: more of them pad less and mix less.
POOL = 50


class Batches:
    """Batches of row numbers of one split.

    rows: at most so many rows a batch
    tokens: at most so many steps a batch, padding included and all fields together; a longer row is a batch alone
    shuffle: whether every epoch has an order of its own; otherwise the rows are taken as they come
    rank, world: this process and how many there are. Every batch is dealt out to all of them, row by row
    least: rows a batch has at least, so that no process goes without: what is left over joins the batch before
    """

    def __init__(
        self,
        source: Source,
        split: Split,
        *,
        rows: int | None = None,
        tokens: int | None = None,
        seed: int = 0,
        shuffle: bool = True,
        rank: int = 0,
        world: int = 1,
        least: int = 1,
    ) -> None:
        if rows is None and tokens is None:
            raise Invalid("batch", "says neither how many rows nor how many tokens a batch may hold.")
        if not 0 <= rank < world:
            raise Invalid("rank", f"{rank} is none of the {world} processes, 0 to {world - 1}.")
        self.source, self.split = source, split
        self.rows, self.tokens, self.least = rows, tokens, least
        self.seed, self.shuffle, self.rank, self.world = seed, shuffle, rank, world
        self.size = source.size(split)
        self.epoch = 0
        self.position = 0  # the next batch of this epoch
        self._known: dict[int, int] = {}  # batches of an epoch

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        self.seek(state["epoch"], state["position"])

    def seek(self, epoch: int, position: int = 0) -> None:
        """Go on with this batch of this epoch, as if all before it had been taken."""
        self.epoch, self.position = epoch, position

    def __len__(self) -> int:
        """The batches of this epoch, those already taken included; the same number on every rank."""
        if self.epoch not in self._known:
            self._known[self.epoch] = sum(1 for _ in self._plan(self.epoch))
        return self._known[self.epoch]

    def __iter__(self) -> Iterator[Tensor]:
        """This rank's rows of every batch left in this epoch; then the next epoch is due."""
        epoch = self.epoch
        for index, rows in enumerate(self._plan(epoch)):
            if index < self.position:
                continue
            self.position = index + 1
            yield rows[self.rank :: self.world]
        self.epoch, self.position = epoch + 1, 0

    def padding(self) -> float:
        """The share of this epoch's steps that is padding."""
        real = padded = 0
        for rows in self._plan(self.epoch):
            for lengths in self.source.lengths(self.split, rows).values():
                real += int(lengths.sum())
                padded += int(lengths.max()) * len(lengths)
        return 1 - real / padded if padded else 0.0

    def _plan(self, epoch: int) -> Iterator[Tensor]:
        """All batches of an epoch, before they are dealt out."""
        pool = self._pool()
        for start in range(0, self.size, pool):
            places = torch.arange(start, min(start + pool, self.size))
            rows = permuted(places, self.size, self.seed, epoch) if self.shuffle else places
            yield from self._cut(rows, epoch, start)

    def _pool(self) -> int:
        if self.rows is not None:
            return POOL * self.rows
        assert self.tokens is not None
        some = self.source.lengths(self.split, torch.arange(min(self.size, 100)))
        mean = sum(float(lengths.double().mean()) for lengths in some.values()) if self.size else 1.0
        return POOL * max(1, int(self.tokens / max(mean, 1.0)))

    def _cut(self, rows: Tensor, epoch: int, start: int) -> list[Tensor]:
        """A pool's batches: sorted by length, cut where the budget ends, and shuffled."""
        fields = list(self.source.lengths(self.split, rows).values())
        if not fields:  # nothing has a length, so nothing is padded
            fields = [torch.ones(len(rows), dtype=torch.long)]
        total = torch.stack(fields).sum(0)
        order = total.argsort(stable=True)
        rows, lengths = rows[order], [field[order].tolist() for field in fields]
        cuts = [0]
        widest = [0] * len(fields)
        for i in range(len(rows)):
            grown = [max(wide, field[i]) for wide, field in zip(widest, lengths, strict=True)]
            count = i - cuts[-1]
            full = self.rows is not None and count >= self.rows
            heavy = self.tokens is not None and sum(grown) * (count + 1) > self.tokens
            if count >= self.least and (full or heavy):
                cuts.append(i)
                grown = [field[i] for field in lengths]
            widest = grown
        if len(cuts) > 1 and len(rows) - cuts[-1] < self.least:
            cuts.pop()
        batches = [rows[a:b] for a, b in zip(cuts, [*cuts[1:], len(rows)], strict=True)]
        if self.shuffle:
            keys = uniform(self.seed, f"batches/{epoch}", torch.tensor([start]), len(batches))[0]
            batches = [batches[i] for i in keys.argsort().tolist()]
        return batches


class Loader:
    """The batches themselves. State and length are those of its plan."""

    def __init__(self, batches: Batches) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[dict[str, Signal]]:
        for rows in self.batches:
            if len(rows):  # a rank has no part in a batch with fewer rows than processes
                yield self.batches.source.batch(self.batches.split, rows)

    def state_dict(self) -> dict[str, int]:
        return self.batches.state_dict()

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        self.batches.load_state_dict(state)


def permuted(places: Tensor, size: int, seed: int, epoch: int) -> Tensor:
    """Where a permutation of range(size), given by seed and epoch, takes these places. No memory but theirs.

    A Feistel network on the next power of four is a bijection; whatever it throws past the end walks on until it is
    back inside (Black and Rogaway, 2002).
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    keys = (uniform(seed, f"epoch/{epoch}", torch.tensor([0]), 4)[0] * 2**53).long()

    def once(values: Tensor) -> Tensor:
        left, right = values >> half, values & mask
        for key in keys:
            left, right = right, left ^ (mix(right + key) & mask)
        return (left << half) | right

    found = once(places.long())
    while bool((outside := found >= size).any()):
        found = torch.where(outside, once(found), found)
    return found
