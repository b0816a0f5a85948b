"""Gradient accumulation: an endless iterator of training batches, each cut into micro-batches.

A batch may be computed as several micro-batches, one after the other or on several processes. The mean loss over the
batch is then exact only if every micro-batch divides its summed loss by the weight of the whole batch, so every
micro-batch carries that weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from composer.batching import Loader
from composer.core.signals import Timed
from composer.graph.counted_steps import CountedSteps
from composer.objectives import Batch


@dataclass(frozen=True, eq=False)
class MicroBatch:
    """One micro-batch of a step's batch, on this process.

    weights: (targets + 1,), the weight of each target over all micro-batches of this process, then their rows
    tokens: time steps of all sequences in the micro-batch, given or predicted: without padding, and with padding
    index, last: the micro-batch's number within the batch, and whether it is the last one
    place: the position in the training data after the whole batch
    counted: the steps that count, by target, where they are few. They are found here, before a batch is moved to a
        GPU, which would have to wait for their number
    """

    batch: Batch
    weights: Tensor
    tokens: tuple[int, int]
    index: int
    last: bool
    place: dict[str, int]
    counted: dict[str, CountedSteps]

    @property
    def epoch(self) -> int:
        return self.place["epoch"]

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The micro-batch on another device."""
        return replace(
            self,
            batch=self.batch.to(*args, **kwargs),
            weights=self.weights.to(*args, **kwargs),
            counted={target: steps.to(*args, **kwargs) for target, steps in self.counted.items()},
        )


class MicroBatches:
    """The iterable of micro-batches that Lightning receives as its data loader."""

    def __init__(self, loader: Loader, targets: Sequence[str]) -> None:
        self.loader, self.targets = loader, targets

    def __iter__(self) -> Iterator[MicroBatch]:
        for batches in self.loader.forever():
            place = self.loader.state_dict()
            counts = [*(weigh(batches, target) for target in self.targets), sum(batch.rows for batch in batches)]
            weights = torch.tensor(counts, dtype=torch.float32)
            for index, batch in enumerate(batches):
                last = index == len(batches) - 1
                yield MicroBatch(batch, weights, count_tokens(batch), index, last, place, counted_steps(batch))


def counted_steps(batch: Batch) -> dict[str, CountedSteps]:
    found = {target: CountedSteps.of(weight) for target, weight in batch.weights.items()}
    return {target: steps for target, steps in found.items() if steps is not None}


def weigh(batches: Sequence[Batch], target: str) -> float:
    """The weight of a target in all these batches: the objective's weights, else the real time steps, else the rows."""
    return sum(_weigh(batch, target) for batch in batches)


def _weigh(batch: Batch, target: str) -> float:
    if target in batch.weights:
        return float(batch.weights[target].sum())
    signal = batch.signals[target]
    return real_steps(signal) if isinstance(signal, Timed) else signal.batch


def real_steps(signal: Timed) -> int:
    return signal.batch * signal.time if signal.lengths is None else int(signal.lengths.sum())


def count_tokens(batch: Batch) -> tuple[int, int]:
    """The time steps of all sequences, without padding and with padding; the rows if there is no sequence."""
    timed = [signal for signal in batch.signals.values() if isinstance(signal, Timed)]
    if not timed:
        return batch.rows, batch.rows
    return sum(map(real_steps, timed)), sum(signal.batch * signal.time for signal in timed)
