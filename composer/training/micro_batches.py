"""The batch of an optimiser step, cut into micro-batches (gradient accumulation), with the weight of the whole batch.

A batch may be computed as several micro-batches, one after the other or on several processes. The mean loss over the
batch is then exact only if every micro-batch divides its summed loss by the weight of the whole batch, so the batch
carries that weight.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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

    counted: the steps that count, by target, where they are few. They are found here, before a batch is moved to a
        GPU, which would have to wait for their number
    """

    batch: Batch
    counted: dict[str, CountedSteps]

    @classmethod
    def of(cls, batch: Batch) -> Self:
        found = {target: CountedSteps.of(weight) for target, weight in batch.weights.items()}
        return cls(batch, {target: steps for target, steps in found.items() if steps is not None})

    def to(self, *args: Any, **kwargs: Any) -> Self:
        counted = {target: steps.to(*args, **kwargs) for target, steps in self.counted.items()}
        return replace(self, batch=self.batch.to(*args, **kwargs), counted=counted)


@dataclass(frozen=True, eq=False)
class StepBatch:
    """The batch of an optimiser step, on this process.

    weights: (targets + 1,), the weight of each target over all micro-batches of this process, then their rows
    tokens: time steps of all sequences, given or predicted: without padding, and with padding
    place: the position in the training data after this batch
    """

    micro_batches: Sequence[MicroBatch]
    weights: Tensor
    tokens: tuple[int, int]
    rows: int
    place: Mapping[str, int]

    @classmethod
    def of(cls, batches: Sequence[Batch], targets: Sequence[str], place: Mapping[str, int]) -> Self:
        rows = sum(batch.rows for batch in batches)
        sums = [sum(weigh(batch, target) for batch in batches) for target in targets]
        weights = torch.tensor([*sums, rows], dtype=torch.float32)
        counts = [count_tokens(batch) for batch in batches]
        tokens = sum(real for real, _ in counts), sum(padded for _, padded in counts)
        return cls([MicroBatch.of(batch) for batch in batches], weights, tokens, rows, place)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """The batch on another device."""
        parts = [part.to(*args, **kwargs) for part in self.micro_batches]
        return replace(self, micro_batches=parts, weights=self.weights.to(*args, **kwargs))


class StepBatches:
    """The batches that are left of an epoch: the training data as Lightning reads it, resumable at any batch.

    repeats: whether all epochs are the first one again, as ``Trainer(overfit_batches=...)`` wants
    """

    def __init__(self, loader: Loader, targets: Sequence[str], *, repeats: bool = False) -> None:
        self.loader, self.targets, self.repeats = loader, targets, repeats
        self.begun = False

    def __iter__(self) -> Iterator[StepBatch]:
        place = self.loader.batches
        if self.begun:  # the last epoch was left: after its last batch, or earlier: Trainer(limit_train_batches=...)
            place.load_state_dict({"epoch": 0 if self.repeats else place.epoch + 1, "position": 0})
        self.begun, some = True, False
        while not some:  # a run that goes on from the last batch of an epoch finds it empty
            for batches in self.loader.training():
                some = True
                yield StepBatch.of(batches, self.targets, place.state_dict())
        self.begun = self.repeats  # the loader is in the next epoch

    def __len__(self) -> int:
        """The number of batches of this epoch. Under a token budget, it is known only once the epoch is over."""
        if self.loader.batches.tokens is not None:
            raise TypeError("batches of so many tokens are not counted beforehand")
        return len(self.loader.batches)

    def state_dict(self) -> dict[str, int]:
        return self.loader.batches.state_dict()

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Lightning may have asked for a batch ahead: the module's progress says where training was (DataModule)."""


def weigh(batch: Batch, target: str) -> float:
    """The weight of a target in a batch: the objective's weights, else the real time steps, else the rows."""
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
