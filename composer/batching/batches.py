"""Which rows go into which batch: by length, under a budget, the same for the same seed, resumable and shardable.

An epoch is a random order of the rows, taken a pool at a time; a pool is sorted by length, cut into batches and those
are shuffled. The order is computed, not stored: a pool can be planned alone, and the whole state is two integers.
Dealing a batch to processes and cutting it into parts whose gradients are added up are one operation: every batch is
dealt to ``world * parts`` pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

import torch
from torch import Tensor

from composer.batching.order import drawn, drawn_rows, permuted
from composer.core.problems import Invalid
from composer.data.counter_random import uniform
from composer.data.source import RowNumbers, Split

#: Batches' worth of rows that are sorted by length together: more of them pad less and mix less.
POOL = 50

#: Pools that a shuffled epoch has at least. In a single one, rows of like length would meet again in every epoch.
POOLS = 4

#: Rows whose order is found at once where nothing is sorted: it costs a moment, whatever their number.
PLANNED = 8192


class Measured(Protocol):
    """What can be planned: a source, or an objective over one, whose rows may have other fields."""

    @property
    def running(self) -> bool: ...
    def size(self, split: Split) -> int: ...
    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]: ...


class Batches:
    """Batches of row numbers of one split.

    rows: at most so many rows a batch
    tokens: at most so many steps a batch, padding included and all fields together; a longer row is a batch alone
    sort: whether rows of like length go together, which pads less; the rows of such a batch may be alike in more than
        their length
    shuffle: whether every epoch has an order of its own; otherwise all have the drawn order (order.py)
    streams: every batch goes on where the one before it stopped, row by row, for a state to be carried over; nothing is
        shuffled. The rows of the split are cut into ``rows`` lanes; what is left over is dropped in training, and
        elsewhere the first lanes are one longer, so that the last batch has these alone
    rank, world: this process and how many there are. Every batch is dealt out to all of them, row by row; a lane stays
        where it is
    parts: into how many parts, one after the other, a process's rows of a batch are dealt
    least: rows a batch has at least, and never less than there are pieces, so that no process goes without: what is
        left over joins the batch before
    start, stop: only the rows at these places of the drawn order; up to its end where ``stop`` is None
    """

    def __init__(
        self,
        source: Measured,
        split: Split,
        *,
        rows: int | None = None,
        tokens: int | None = None,
        seed: int = 0,
        sort: bool = True,
        shuffle: bool = True,
        streams: bool = False,
        rank: int = 0,
        world: int = 1,
        parts: int = 1,
        least: int = 1,
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        if rows is None and tokens is None:
            raise Invalid("batch", "says neither how many rows nor how many tokens a batch may hold.")
        if not 0 <= rank < world:
            raise Invalid("rank", f"{rank} is none of the {world} processes, 0 to {world - 1}.")
        self.source, self.split, self.streams = source, split, streams
        self.rows, self.tokens, self.least = rows, tokens, max(least, world * parts)
        self.sort, self.seed, self.shuffle, self.rank, self.world, self.parts = sort, seed, shuffle, rank, world, parts
        self.every = source.size(split)
        self.start = min(start, self.every)
        self.size = max(0, (self.every if stop is None else min(stop, self.every)) - self.start)
        self.epoch = 0
        self.position = 0  # the next batch of this epoch
        self._known: dict[int, int] = {}  # batches of an epoch
        if streams:
            self._check_streams()

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
            self._known[self.epoch] = self._count(self.epoch)
        return self._known[self.epoch]

    def __iter__(self) -> Iterator[list[Tensor]]:
        """This rank's rows of every batch left in this epoch, in its parts; then the next epoch is due."""
        epoch = self.epoch
        for index, rows in enumerate(self._plan(epoch, self.position), self.position):
            self.position = index + 1
            yield self.dealt(rows)
        self.epoch, self.position = epoch + 1, 0

    def dealt(self, rows: Tensor) -> list[Tensor]:
        """This rank's parts of a planned batch."""
        pieces = self.world * self.parts
        return [rows[first::pieces].contiguous() for first in range(self.rank, pieces, self.world)]

    def padding(self) -> float:
        """The share of this epoch's steps that is padding."""
        real = padded = 0
        for rows in self._plan(self.epoch):
            for lengths in self.source.lengths(self.split, rows).values():
                real += int(lengths.sum())
                padded += int(lengths.max()) * len(lengths)
        return 1 - real / padded if padded else 0.0

    def _plan(self, epoch: int, first: int = 0) -> Iterator[Tensor]:
        """The batches of an epoch from this one on, before they are dealt out."""
        if self.streams:
            yield from self._abreast(first)
            return
        for start, stop in self._pools():
            if self.tokens is None and first >= (count := len(self._even(stop - start))):
                first -= count  # no need to look at rows that are not wanted
                continue
            batches = self._cut(start, stop, epoch)
            yield from batches[first:]
            first = max(0, first - len(batches))

    def _count(self, epoch: int) -> int:
        if self.streams:
            each, longer = self._lanes()
            return each + bool(longer)
        if self.tokens is None:
            return sum(len(self._even(stop - start)) for start, stop in self._pools())
        return sum(1 for _ in self._plan(epoch))

    def _pools(self) -> Iterator[tuple[int, int]]:
        """Each pool's first place in the epoch's order, and the next one's."""
        pool = max(self._pool(), self.least)
        start = 0
        while start < self.size:
            stop = min(start + pool, self.size)
            if self.size - stop < self.least:
                stop = self.size  # too few for a batch of their own
            yield start, stop
            start = stop

    def _pool(self) -> int:
        """Rows that are planned together."""
        if self.rows is not None and not self.sort and self.tokens is None:
            return self.rows * max(POOL, -(-PLANNED // self.rows))
        batch = self.rows
        if batch is None:
            assert self.tokens is not None
            some = self.source.lengths(self.split, drawn_rows(self.every, 100))
            mean = sum(float(lengths.double().mean()) for lengths in some.values()) if self.size else 1.0
            batch = max(1, int(self.tokens / max(mean, 1.0)))
        few = -(-self.size // (POOLS * batch)) if self.shuffle else POOL
        return batch * max(1, min(POOL, few))

    def _cut(self, start: int, stop: int, epoch: int) -> list[Tensor]:
        """A pool's batches: sorted by length, cut where the budget ends, and shuffled."""
        rows = torch.arange(start, stop)
        if self.shuffle:
            rows = permuted(rows, self.size, self.seed, f"epoch/{epoch}")
        if not self.shuffle or self.size < self.every:
            rows = drawn(self.start + rows, self.every)
        if self.tokens is None and not self.sort:
            return list(rows.tensor_split(tuple(self._even(len(rows))[1:])))
        lengths = list(self.source.lengths(self.split, rows).values())
        if not lengths:  # nothing has a length, so nothing is padded
            lengths = [torch.ones(len(rows), dtype=torch.long)]
        fields = torch.stack(lengths)  # (F, rows)
        draws = uniform(self.seed, f"batches/{epoch}", torch.tensor([start]), len(rows) + 1)[0]
        if self.sort:
            order = by_length(fields)
            if self.shuffle and draws[-1] < 0.5:  # otherwise the batch of what is left over always has the longest rows
                order = order.flip(0)
            rows, fields = rows[order], fields[:, order]
        cuts = self._even(len(rows)) if self.tokens is None else self._uneven(fields, self.tokens)
        batches = list(rows.tensor_split(tuple(cuts[1:])))
        if self.shuffle:
            batches = [batches[i] for i in draws[: len(batches)].argsort().tolist()]
        return batches

    def _even(self, count: int) -> range:
        """Where the batches of a pool of so many rows begin, if only the number of rows is limited."""
        assert self.rows is not None
        starts = range(0, count, max(self.rows, self.least))
        return starts[:-1] if len(starts) > 1 and count - starts[-1] < self.least else starts

    def _uneven(self, fields: Tensor, tokens: int) -> list[int]:
        """The same under a limit of steps. ``fields``: each one's length in every row, (F, rows)."""
        count = fields.shape[1]
        total = fields.sum(0).tolist()
        cuts = [0]
        while True:
            at = cuts[-1]
            most = tokens // max(total[at], 1)  # this row is as wide as that, so no more than these fit
            most = max(most if self.rows is None else min(most, self.rows), self.least)
            widest = fields[:, at : at + most].cummax(1).values.sum(0)  # (most,), a row as wide as all up to it
            fit = int((widest * torch.arange(1, len(widest) + 1) <= tokens).sum())
            at += max(fit, self.least)
            if count - at < self.least:
                return cuts
            cuts.append(at)

    def _check_streams(self) -> None:
        if self.size < self.every:
            raise Invalid("streams", "take all rows of a split, in their order. Leave start and stop out.")
        if not self.source.running:
            raise Invalid(
                "streams",
                "the examples of this data do not follow each other, so no state can be carried from one batch to the "
                "next. Use a running text whose windows do not overlap, e.g. data=text with data.stride=null.",
            )
        if self.rows is None or self.tokens is not None:
            raise Invalid("tokens", "cannot limit streams, whose batches all have the same rows. Say how many instead.")
        if self.split == "train" and self._lanes()[0] == 0:
            lanes = max(self.rows, self.least)
            raise Invalid(
                "rows",
                f"{lanes} streams need as many examples, but the training split has {self.size}. "
                "Take fewer rows a batch, a smaller data.length, or a longer text.",
            )

    def _lanes(self) -> tuple[int, int]:
        """The rows of every lane, and how many lanes have one more."""
        assert self.rows is not None
        each, left = divmod(self.size, max(self.rows, self.least))
        return each, 0 if self.split == "train" else left

    def _abreast(self, first: int) -> Iterator[Tensor]:
        """The lanes side by side, from this batch on."""
        assert self.rows is not None
        each, longer = self._lanes()
        lanes = torch.arange(max(self.rows, self.least))
        begins = lanes * each + lanes.clamp(max=longer)
        for step in range(first, each):
            yield begins + step
        if longer and first <= each:
            yield begins[:longer] + each


def by_length(fields: Tensor) -> Tensor:
    """The order by each row's longest field, then by the sum of its fields. ``fields``: (F, rows).

    Of the orders compared on pairs of sentences, this one pads least: 14 % where the sum alone pads 21 %, and one field
    after the other 20 to 22 %.
    """
    order = fields.sum(0).argsort(stable=True)
    return order[fields.amax(0)[order].argsort(stable=True)]
