"""The cost of a training step: its tokens, and its seconds as measured on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Any

from composer.metrics import Evaluation
from composer.training.run.plan import TrainingPlan
from composer.training.run.train import feed, optimise
from composer.training.screen import Screen

#: The number of batches whose tokens are counted.
COUNTED = 20

#: Steps that are taken before the clock starts, and steps that are timed.
WARM_UP, TIMED = 5, 10


def tokens_per_step(plan: TrainingPlan) -> float:
    """The mean number of tokens in a step, counted as in ``metrics.jsonl``: the steps of all sequences, no padding."""
    parts = islice(feed(plan, 0, 1, None), COUNTED * plan.training.accumulate)
    counts = [part.tokens[0] for part in parts]
    return sum(counts) * plan.training.accumulate / len(counts)


def seconds_per_step(plan: TrainingPlan) -> float:
    """The mean time of a training step, validation and checkpoints left out, from a few real steps."""
    clock = _Clock()
    few = replace(plan.training, steps=WARM_UP + TIMED, epochs=None, log_every=WARM_UP)
    optimise(replace(plan, training=few), Screen(quiet=True), clock, None, validate=False)
    return (clock.seconds[WARM_UP + TIMED] - clock.seconds[WARM_UP]) / TIMED


class _Clock:
    """A recorder of the seconds spent in training steps alone."""

    def __init__(self) -> None:
        self.seconds: dict[int, float] = {}

    def logged(self, step: int, values: Mapping[str, float]) -> None:
        self.seconds[step] = values["seconds"]

    def validated(self, step: int, evaluation: Evaluation, *, best: bool) -> None:
        raise AssertionError("validation is left out")

    def save(self, content: Mapping[str, Any], *, best: bool) -> None:
        pass  # these steps are not a run
