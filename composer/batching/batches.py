"""Which rows go into which batch: length bucketing, a token budget, sharding over processes and resuming.

An epoch is a random order of the rows. It is processed one pool of rows at a time: the rows of a pool are sorted by
length, cut into batches, and the batches are shuffled. The order is a function of the seed and is never stored, so a
pool can be planned without the pools before it, and the state to resume from is two integers.

Sharding a batch over processes (data parallelism) and cutting it into micro-batches (gradient accumulation) are one
operation: every batch is divided into ``world * parts`` pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from composer.batching.order import drawn, drawn_rows, permuted
from composer.core.problems import Invalid
from composer.data.counter_random import uniform
from composer.data.source import Source, Split
from composer.objectives import Objective

#: The size of a pool, in batches. A larger pool needs less padding, but its batches are less random.
POOL = 50

#: The least number of pools in a shuffled epoch. With a single pool, the same rows would share a batch in every epoch.
POOLS = 4

#: The least number of rows in an unsorted pool. A call of ``permuted`` has a fixed cost, so few large calls are best.
PLANNED = 8192


class Batches:
    """Batches of row numbers of one split.

    source: what has the rows: a source, or an objective, whose fields may differ from those of its source
    rows: the largest number of rows in a batch
    tokens: the largest number of steps in a batch, summed over all fields, padding included (max-tokens batching). A
        row that exceeds this budget forms a batch by itself
    sort: length bucketing: rows of similar length share a batch, which reduces padding. Rows of similar length may be
        similar in other respects, too, which makes the batches less random
    shuffle: whether every epoch has its own order; otherwise every epoch has the drawn order (order.py)
    streams: row i of every batch continues row i of the batch before it, so that the hidden state can be carried over
        (truncated BPTT); nothing is shuffled. The split is cut into ``rows`` lanes of consecutive rows. In training,
        rows that do not fill all lanes are dropped; in evaluation, the first lanes have one row more, and the last
        batch holds only these lanes
    rank, world: the number of this process and the number of processes. The rows of every batch are distributed over
        the processes in turn; a lane of a stream always belongs to the same process
    parts: the number of micro-batches into which the rows of a process are divided (gradient accumulation). A batch
        has at least ``world * parts`` rows, one for each; rows that are too few for a batch join the batch before them
    start, stop: use only the rows at these places of the drawn order; ``stop=None`` is the end of that order
    """

    def __init__(
        self,
        source: Source | Objective,
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
        start: int = 0,
        stop: int | None = None,
    ) -> None:
        if rows is None and tokens is None:
            raise Invalid("batch", "says neither how many rows nor how many tokens a batch may hold.")
        if not 0 <= rank < world:
            raise Invalid("rank", f"{rank} is none of the {world} processes, 0 to {world - 1}.")
        self.source, self.split, self.streams = source, split, streams
        self.rows, self.tokens, self.sort, self.seed, self.shuffle = rows, tokens, sort, seed, shuffle
        self.rank, self.world, self.parts, self.pieces = rank, world, parts, world * parts
        self.every = source.size(split)
        self.start = min(start, self.every)
        self.size = max(0, (self.every if stop is None else min(stop, self.every)) - self.start)
        self.epoch = 0
        self.position = 0  # the next batch of this epoch
        self._batch_counts: dict[int, int] = {}  # epoch -> number of its batches
        if streams:
            self._check_streams()

    def state_dict(self) -> dict[str, int]:
        return {"epoch": self.epoch, "position": self.position}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Continue with this batch of this epoch, as if all earlier batches had been consumed."""
        self.epoch, self.position = state["epoch"], state["position"]

    def __len__(self) -> int:
        """The number of batches of this epoch, consumed batches included; it is the same on every rank."""
        if self.epoch not in self._batch_counts:
            self._batch_counts[self.epoch] = self._count(self.epoch)
        return self._batch_counts[self.epoch]

    def __iter__(self) -> Iterator[list[Tensor]]:
        """The rows of this rank's micro-batches, for every batch left in this epoch; then the epoch is advanced."""
        epoch = self.epoch
        for index, rows in enumerate(self._plan(epoch, self.position), self.position):
            self.position = index + 1
            yield [rows[first :: self.pieces].contiguous() for first in range(self.rank, self.pieces, self.world)]
        self.epoch, self.position = epoch + 1, 0

    def _plan(self, epoch: int, first: int = 0) -> Iterator[Tensor]:
        """The batches of an epoch, starting with batch ``first``, before they are divided among the processes."""
        if self.streams:
            yield from self._stream_batches(first)
            return
        for start, stop in self._pools():
            if self.tokens is None and first >= (count := len(self._starts_by_rows(stop - start))):
                first -= count  # the batches of this pool are skipped without reading the lengths of its rows
                continue
            batches = self._cut(start, stop, epoch)
            yield from batches[first:]
            first = max(0, first - len(batches))

    def _count(self, epoch: int) -> int:
        if self.streams:
            each, longer = self._lanes()
            return each + bool(longer)
        if self.tokens is None:
            return sum(len(self._starts_by_rows(stop - start)) for start, stop in self._pools())
        return sum(1 for _ in self._plan(epoch))

    def _pools(self) -> Iterator[tuple[int, int]]:
        """For each pool, the places [start, stop) of its rows in the order of the epoch."""
        pool = max(self._pool(), self.pieces)
        start = 0
        while start < self.size:
            stop = min(start + pool, self.size)
            if self.size - stop < self.pieces:
                stop = self.size  # the remaining rows are too few for a batch of their own
            yield start, stop
            start = stop

    def _pool(self) -> int:
        """The number of rows in a pool."""
        if self.rows is not None and not self.sort and self.tokens is None:
            return self.rows * max(POOL, -(-PLANNED // self.rows))
        batch = self.rows
        if batch is None:
            assert self.tokens is not None
            sample = self.source.lengths(self.split, drawn_rows(self.every, 100))
            mean = sum(float(lengths.double().mean()) for lengths in sample.values()) if self.size else 1.0
            batch = max(1, int(self.tokens / max(mean, 1.0)))
        batches = -(-self.size // (POOLS * batch)) if self.shuffle else POOL
        return batch * max(1, min(POOL, batches))

    def _cut(self, start: int, stop: int, epoch: int) -> list[Tensor]:
        """The batches of a pool: its rows are sorted by length and cut at the budget, and the batches are shuffled."""
        rows = torch.arange(start, stop)
        if self.shuffle:
            rows = permuted(rows, self.size, self.seed, f"epoch/{epoch}")
        if not self.shuffle or self.size < self.every:
            rows = drawn(self.start + rows, self.every)
        if self.shuffle and self.split == "train" and self.source.rows_by_epoch:
            rows = rows + epoch * self.every
        if self.tokens is None and not self.sort:
            return list(rows.tensor_split(tuple(self._starts_by_rows(len(rows))[1:])))
        lengths = list(self.source.lengths(self.split, rows).values())
        if not lengths:  # no field has a time axis, so there is no padding
            lengths = [torch.ones(len(rows), dtype=torch.long)]
        fields = torch.stack(lengths)  # (F, rows)
        draws = uniform(self.seed, f"batches/{epoch}", torch.tensor([start]), len(rows) + 1)[0]
        if self.sort:
            order = by_length(fields)
            if self.shuffle and draws[-1] < 0.5:  # otherwise the smaller last batch would always have the longest rows
                order = order.flip(0)
            rows, fields = rows[order], fields[:, order]
        cuts = self._starts_by_rows(len(rows)) if self.tokens is None else self._starts_by_tokens(fields, self.tokens)
        batches = list(rows.tensor_split(tuple(cuts[1:])))
        if self.shuffle:
            batches = [batches[i] for i in draws[: len(batches)].argsort().tolist()]
        return batches

    def _starts_by_rows(self, count: int) -> range:
        """The first row of each batch in a pool of ``count`` rows, where only the number of rows is limited."""
        assert self.rows is not None
        starts = range(0, count, max(self.rows, self.pieces))
        return starts[:-1] if len(starts) > 1 and count - starts[-1] < self.pieces else starts

    def _starts_by_tokens(self, fields: Tensor, tokens: int) -> list[int]:
        """The first row of each batch of a pool under a token budget. ``fields``: lengths of the fields, (F, rows)."""
        count = fields.shape[1]
        total = fields.sum(0).tolist()
        starts = [0]
        while True:
            start = starts[-1]
            most = tokens // max(total[start], 1)  # every row is padded to at least the length of the first one
            most = max(most if self.rows is None else min(most, self.rows), self.pieces)
            # (most,), the padded steps of a row in a batch of the first 1, 2, ... rows
            padded = fields[:, start : start + most].cummax(1).values.sum(0)
            fit = int((padded * torch.arange(1, len(padded) + 1) <= tokens).sum())
            start += max(fit, self.pieces)
            if count - start < self.pieces:
                return starts
            starts.append(start)

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
            lanes = max(self.rows, self.pieces)
            raise Invalid(
                "rows",
                f"{lanes} streams need as many examples, but the training split has {self.size}. "
                "Take fewer rows a batch, a smaller data.length, or a longer text.",
            )

    def _lanes(self) -> tuple[int, int]:
        """The number of rows in every lane, and the number of lanes that have one row more."""
        assert self.rows is not None
        each, left = divmod(self.size, max(self.rows, self.pieces))
        return each, 0 if self.split == "train" else left

    def _stream_batches(self, first: int) -> Iterator[Tensor]:
        """The batches of all lanes, one row of each lane in a batch, starting with batch ``first``."""
        assert self.rows is not None
        each, longer = self._lanes()
        lanes = torch.arange(max(self.rows, self.pieces))
        begins = lanes * each + lanes.clamp(max=longer)
        for step in range(first, each):
            yield begins + step
        if longer and first <= each:
            yield begins[:longer] + each


def by_length(fields: Tensor) -> Tensor:
    """The order of the rows by their longest field, ties broken by the sum of their fields. ``fields``: (F, rows).

    Of the orders compared on pairs of sentences, this order needs the least padding: 14 %. Sorting by the sum alone
    needs 21 %, and sorting by one field, ties broken by the other, 20 to 22 %.
    """
    order = fields.sum(0).argsort(stable=True)
    return order[fields.amax(0)[order].argsort(stable=True)]
