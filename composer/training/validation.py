"""What follows from a validation: whether the model is the best so far, and the bounds of its real-valued predictions.

A trained model may be better than the untrained one, a baseline, by chance: a few windows that overlap tell little, and
after any training, the validation split of some random walks seems easier to foretell than it is. The
one-standard-error rule keeps the simpler model, here the baseline, unless another is better by more than a standard
error (Breiman et al., 1984).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import torch
import torch.distributed
from torch import Tensor

from composer.core.bounds import Bounds
from composer.metrics import LOSS, Evaluation, direction
from composer.metrics.bootstrap import Examples

if TYPE_CHECKING:
    from composer.training.module import TrainingModule

#: What every process has of its own.
Own = TypeVar("Own")


class Validations:
    """
    bounds: of every head with real-valued predictions, from the errors of the last validation
    untrained: the squared error of every example before training, by head
    better: whether the last validation was the best so far
    """

    def __init__(self, saved: Mapping[str, Any]) -> None:
        self.bounds: dict[str, dict[str, Tensor]] = saved.get("bounds") or {}
        self.untrained: dict[str, Tensor] = saved.get("untrained") or {}
        self.better = False

    def state_dict(self) -> dict[str, Any]:
        return {"bounds": self.bounds, "untrained": self.untrained}

    def count(self, module: TrainingModule, evaluation: Evaluation) -> bool:
        """Count a validation, and return whether it is the best so far."""
        progress = module.progress
        progress.validated = progress.step
        every = gather(evaluation.errors, module.world)
        errors = {head: [part for process in every for part in process[head]] for head in evaluation.errors}
        found = {head: Bounds.of(parts) for head, parts in errors.items()}
        self.bounds = {head: vars(bounds) for head, bounds in found.items() if bounds is not None}
        squares = squared_errors({head: parts for head, parts in errors.items() if parts})
        if progress.step == 0:
            self.untrained = squares
        elif not progress.best_step and self._by_chance(squares, evaluation.examples):
            progress.stale += 1
            return False
        monitor = progress.monitor or LOSS
        return progress.improved(evaluation.values[monitor], evaluation.values[LOSS], direction(monitor))

    def _by_chance(self, squares: Mapping[str, Tensor], examples: Examples) -> bool:
        """Whether what is better about this model than the untrained baseline, the best so far, may be chance."""
        if not self.untrained or not self.untrained.keys() <= self.bounds.keys():
            return False
        return all(
            within_chance(squares[head], before, examples, len(self.bounds[head]["scale"]))
            for head, before in self.untrained.items()
        )


def gather(own: Own, world: int) -> list[Own]:
    """The values of all processes, in the order of their ranks."""
    if world == 1:
        return [own]
    everyone: list[Any] = [None] * world
    torch.distributed.all_gather_object(everyone, own)
    return everyone


def squared_errors(errors: Mapping[str, list[Tensor]]) -> dict[str, Tensor]:
    """By head, the mean squared error of every example, (N,), from the errors of batches, (B, T, D)."""
    every = {head: torch.cat([part.square().flatten(1).nanmean(1) for part in parts]) for head, parts in errors.items()}
    return {head: found[~found.isnan()] for head, found in every.items()}


def within_chance(now: Tensor, before: Tensor, examples: Examples, steps: int) -> bool:
    """Whether squared errors of the same examples are lower than before by less than a standard error, if at all.

    steps: of a prediction. Examples count as independent where their predictions share no step
    """
    if len(now) != len(before) or len(now) < 2:
        return False
    shared = min(examples.overlap, steps)
    independent = min(len(now), max(1.0, examples.size / shared)) if shared > 1 else len(now)
    difference = now - before
    return bool(difference.mean() > -difference.std() / independent**0.5)
