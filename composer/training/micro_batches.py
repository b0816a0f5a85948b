"""The batches of a run without end, cut into parts, with what the whole of each weighs.

A mean over a batch that is computed in parts, one after the other or on several processes, is right only if every part
divides by the weight of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from composer.batching import Loader
from composer.core.signals import Timed
from composer.objectives import Batch


@dataclass(frozen=True, eq=False)
class MicroBatch:
    """One of the parts of a step's batch, on this process.

    weights: what all its parts together weigh, a number a target, (targets,), and last how many rows they have
    tokens: the steps of all its sequences, given or predicted, that are real, and how many there are with padding
    place: where the data stands once the whole batch has been used
    """

    batch: Batch
    weights: Tensor
    tokens: tuple[int, int]
    index: int
    last: bool
    place: dict[str, int]

    @property
    def epoch(self) -> int:
        return self.place["epoch"]

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Moved to a device."""
        return replace(self, batch=self.batch.to(*args, **kwargs), weights=self.weights.to(*args, **kwargs))


class MicroBatches:
    """An iterable of parts, as Lightning takes it."""

    def __init__(self, loader: Loader, targets: Sequence[str]) -> None:
        self.loader, self.targets = loader, targets

    def __iter__(self) -> Iterator[MicroBatch]:
        for batches in self.loader.forever():
            place = self.loader.state_dict()
            counts = [*(weigh(batches, target) for target in self.targets), sum(batch.rows for batch in batches)]
            weights = torch.tensor(counts, dtype=torch.float32)
            for index, batch in enumerate(batches):
                last = index == len(batches) - 1
                yield MicroBatch(batch, weights, count_tokens(batch), index, last, place)


def weigh(batches: Sequence[Batch], target: str) -> float:
    """What a target weighs in all these batches: its real steps or rows, unless the objective says otherwise."""
    return sum(_weigh(batch, target) for batch in batches)


def _weigh(batch: Batch, target: str) -> float:
    if target in batch.weights:
        return float(batch.weights[target].sum())
    signal = batch.signals[target]
    return real_steps(signal) if isinstance(signal, Timed) else signal.batch


def real_steps(signal: Timed) -> int:
    return signal.batch * signal.time if signal.lengths is None else int(signal.lengths.sum())


def count_tokens(batch: Batch) -> tuple[int, int]:
    """The real steps of all sequences, and all steps; rows where there is no sequence."""
    timed = [signal for signal in batch.signals.values() if isinstance(signal, Timed)]
    if not timed:
        return batch.rows, batch.rows
    return sum(map(real_steps, timed)), sum(signal.batch * signal.time for signal in timed)
