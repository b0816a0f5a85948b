"""The loader, which makes tensors of planned batches, and the batches of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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


class DrawnBatches:
    """The batches of this process, by one plan after the other; their number is at most ``len``."""

    def __init__(self, loaders: Sequence[Loader]) -> None:
        self.loaders = loaders

    def __iter__(self) -> Iterator[Batch]:
        for loader in self.loaders:
            for parts in loader:
                yield from parts

    def __len__(self) -> int:
        return sum(len(loader.batches) for loader in self.loaders)


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
) -> tuple[DrawnBatches, DrawnBatches]:
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

    def between(start: int, middle: int, stop: int) -> DrawnBatches:
        """The examples from ``start`` on, of which those before ``middle`` are shown."""
        parts = [(start, middle, True), (middle, stop, False)]
        return DrawnBatches([
            Loader(objective, Batches(
                objective, split, rows=batch, tokens=batch_tokens, sort=not show, shuffle=False, start=first, stop=end,
                rank=rank, world=1 if show else world,
            ))
            for first, end, show in parts
            if first < end and not (show and rank > 0)
        ])  # fmt: skip

    return between(0, min(shown, decoded), decoded), between(decoded, max(shown, decoded), every)
