"""How far a run has come, and what is counted between two logs."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from composer.metrics.metric import Direction


@dataclass
class RunProgress:
    """How far a run has come.

    step: optimiser steps taken
    tokens, padded: time steps of all sequences read so far, without padding and with padding
    examples: rows of the training data read so far; a row counts again in every epoch
    seconds: time spent in training steps, without validation and checkpoints
    place: the position in the training data, as epoch and position within the epoch
    monitor: the metric that chooses the best checkpoint; None in older runs, whose config names it
    best, best_step: the best value of this metric, and the step at which it was measured
    best_loss: the validation loss at that step; None in older runs
    stale: validations since the best one, which early stopping compares with ``training.patience``
    validated: the step of the last validation; -1 before the first one
    pruned: whether a search ended the run early
    """

    step: int = 0
    tokens: int = 0
    padded: int = 0
    examples: int = 0
    seconds: float = 0.0
    place: dict[str, int] = field(default_factory=lambda: {"epoch": 0, "position": 0})
    best: float | None = None
    best_step: int = 0
    best_loss: float | None = None
    monitor: str | None = None
    stale: int = 0
    validated: int = -1
    pruned: bool = False

    def improved(self, value: float, loss: float, direction: Direction) -> bool:
        """Count a validation, and return whether it is the best so far. Of equal values, a lower loss is better.

        A metric such as the accuracy is often the same at several validations, and 1 at all the last ones.
        """
        sign = 1 if direction == "min" else -1
        new, old = (_cost(sign, value), _cost(1, loss)), (_cost(sign, self.best), _cost(1, self.best_loss))
        if self.best is not None and (new >= old or (new[0] == old[0] and self.best_loss is None)):
            self.stale += 1
            return False
        self.best, self.best_loss, self.best_step, self.stale = value, loss, self.step, 0
        return True


def _cost(sign: int, value: float | None) -> float:
    """A value of which less is better; nan is worse than any number."""
    return math.inf if value is None or math.isnan(value) else sign * value


@dataclass
class LoggingWindow:
    """Counts the steps since the last log, and the time that they took. ``resume`` starts its clock.

    tokens, padded, examples: as in ``RunProgress``, on this process
    """

    steps: int = 0
    tokens: int = 0
    padded: int = 0
    examples: int = 0
    seconds: float = 0.0

    def resume(self) -> None:
        self.clock = time.perf_counter()

    def count_batch(self, tokens: int, padded: int, examples: int) -> None:
        self.tokens += tokens
        self.padded += padded
        self.examples += examples

    def count_step(self) -> None:
        """Count a step and the seconds since the clock was started."""
        self.steps += 1
        self.seconds += time.perf_counter() - self.clock
