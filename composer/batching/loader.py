"""The loader, which makes tensors of planned batches, and the batches of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from composer.batching.batches import Batches
from composer.core.problems import UserError
from composer.data.source import RowNumbers, Split
from composer.objectives import Batch, Objective


class Loader:
    """The batches that an objective makes of planned row numbers: for each, the micro-batches of this process.

    Iterating gives the batches that are left of an epoch. A micro-batch without a row is left out, so the list of a
    process is empty where a batch has fewer rows than there are processes. The state of
    ``batches`` counts every batch that was yielded as consumed.
    """

    def __init__(self, objective: Objective, batches: Batches) -> None:
        self.objective, self.batches = objective, batches

    def __iter__(self) -> Iterator[list[Batch]]:
        return self._made(self.objective.batch)

    def _made(self, make: Callable[[Split, RowNumbers, int], Batch]) -> Iterator[list[Batch]]:
        plan, epoch = self.batches, self.batches.epoch
        for parts in plan:
            yield [make(plan.split, rows, epoch) for rows in parts if len(rows)]

    def training(self) -> Iterator[list[Batch]]:
        """The batches that are left of an epoch, to train on. A split with too few examples is a UserError."""
        plan = self.batches
        if plan.size < plan.pieces:
            has = f"has {plan.size} example{'s' * (plan.size != 1)}" if plan.size else "is empty"
            shared = f": too few for {plan.world} processes with {plan.parts} parts of a batch each"
            wanted = shared if plan.pieces > 1 else ""
            raise UserError(f"the split '{plan.split}' of this data {has}{wanted}. Give more data, or another share.")
        return self._made(self.objective.training_batch)

    def forever(self) -> Iterator[list[Batch]]:
        """Batches to train on, one epoch after the other."""
        while True:
            yield from self.training()


def drawn_batches(
    objective: Objective,
    split: Split,
    *,
    batch: int | None,
    batch_tokens: int | None = None,
    rows: int | None = None,
    decode_rows: int | None = None,
    samples: int = 0,
    rank: int = 0,
    world: int = 1,
) -> tuple[Iterator[Batch], Iterator[Batch]]:
    """The examples that this process evaluates: those decoded autoregressively, and those with teacher forcing only.

    Which examples these are depends only on the drawn order, ``rows``, ``decode_rows`` and ``samples``, and not on the
    batch size or the number of processes. Length bucketing changes the order of the examples. So the examples to show
    form batches of their own, in the drawn order, before the others, all of them on the first process.

    rows: the number of examples in all; None for the whole split
    decode_rows: the number of these examples that are decoded; None for all
    samples: the number of these examples that are shown
    """
    size = objective.size(split)
    every = size if rows is None else min(rows, size)
    decoded = every if decode_rows is None else min(decode_rows, every)
    shown = min(samples, every)

    def between(start: int, stop: int, *, show: bool = False) -> Iterator[Batch]:
        if start >= stop or (show and rank > 0):
            return
        plan = Batches(
            objective, split, rows=batch, tokens=batch_tokens, sort=not show, shuffle=False, start=start, stop=stop,
            rank=rank, world=1 if show else world,
        )  # fmt: skip
        for parts in Loader(objective, plan):
            yield from parts

    shown_decoded, shown_forced = min(shown, decoded), max(shown, decoded)
    return (
        chain(between(0, shown_decoded, show=True), between(shown_decoded, decoded)),
        chain(between(decoded, shown_forced, show=True), between(shown_forced, every)),
    )
