"""How far a run has come, and what is counted between two logs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class RunProgress:
    """How far a run has come.

    step: optimiser steps taken
    tokens, padded: time steps of all sequences read so far, without padding and with padding
    examples: rows of the training data read so far; a row counts again in every epoch
    seconds: time spent in training steps, without validation and checkpoints
    place: the position in the training data, as epoch and position within the epoch
    best, best_step: the best value of ``training.judge``, and the step at which it was measured
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
    stale: int = 0
    validated: int = -1
    pruned: bool = False


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
