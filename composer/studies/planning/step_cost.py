"""The seconds of a training step, as measured on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from composer.metrics import Evaluation
from composer.training.run.plan import TrainingPlan
from composer.training.run.train import optimise
from composer.training.screen import Screen

#: Steps that are taken before the clock starts, and steps that are timed.
WARM_UP, TIMED = 5, 10


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
