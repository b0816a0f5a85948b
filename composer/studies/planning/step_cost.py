"""The seconds of a training step, as measured on this machine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lightning import Callback, Trainer

from composer.training.module import TrainingModule
from composer.training.run.plan import TrainingPlan
from composer.training.run.train import materialise, take_steps

#: Steps that are taken before the clock starts, and steps that are timed.
WARM_UP, TIMED = 5, 10


def seconds_per_step(plan: TrainingPlan) -> float:
    """The mean time of a training step, validation and checkpoints left out, from a few real steps."""
    clock = _Clock()
    few = replace(plan, training=replace(plan.training, steps=WARM_UP + TIMED, epochs=None, log_every=WARM_UP))
    take_steps(few, TrainingModule(few, materialise(few), steps=WARM_UP + TIMED), [clock])
    return (clock.seconds[WARM_UP + TIMED] - clock.seconds[WARM_UP]) / TIMED


class _Clock(Callback):
    """The seconds spent in training steps alone, by the step."""

    def __init__(self) -> None:
        self.seconds: dict[int, float] = {}

    def on_train_batch_end(self, trainer: Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.seconds[module.progress.step] = module.progress.seconds
