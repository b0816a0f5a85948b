"""Learning rate schedules: the learning rate as a share of its peak.

The share is a function of the step, so a schedule has no state. The exception is ``plateau``, which depends on the
validations and stores two numbers in the checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from composer.core.binding import bind_entry
from composer.core.block import Positive, Probability, Range
from composer.core.problems import Locate
from composer.core.registry import register

#: A value below 1 is a share of all steps; a value of at least 1 is a number of steps.
Warmup = Annotated[float, Range(low=0)]
Share = Annotated[float, Range(low=0, high=1)]


class Schedule:
    """The base class: linear warm-up, then a constant rate.

    steps: optimiser steps of the whole run
    warmup: steps in which the rate rises from 0 to its peak; below 1, a share of all steps
    """

    def __init__(self, steps: int, *, warmup: Warmup = 0.0) -> None:
        self.steps = steps
        self.warmup = int(warmup * steps) if warmup < 1 else int(warmup)

    def factor(self, step: int) -> float:
        """The share of the peak rate for the next step, after ``step`` steps have been taken."""
        if step < self.warmup:
            return (step + 1) / self.warmup
        return self.after(step, (step - self.warmup) / max(1, self.steps - self.warmup))

    def after(self, step: int, done: float) -> float:
        """The share of the peak rate after the warm-up; ``done`` rises from 0 to 1."""
        return 1.0

    def validated(self, better: bool) -> None:
        """Receive whether a validation was better than all before, by ``training.monitor``."""

    def state_dict(self) -> dict[str, float]:
        return {}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        pass


@register("schedule", "constant")
class Constant(Schedule):
    """The same rate, after a warm-up."""


@register("schedule", "cosine")
class Cosine(Schedule):
    """Half a cosine from the peak down to ``final`` times the peak (Loshchilov and Hutter, 2017)."""

    def __init__(self, steps: int, *, warmup: Warmup = 0.1, final: Share = 0.0) -> None:
        super().__init__(steps, warmup=warmup)
        self.final = final

    def after(self, step: int, done: float) -> float:
        return self.final + (1 - self.final) * (1 + math.cos(math.pi * min(done, 1.0))) / 2


@register("schedule", "linear")
class Linear(Schedule):
    """A straight line from the peak down to ``final`` times the peak."""

    def __init__(self, steps: int, *, warmup: Warmup = 0.1, final: Share = 0.0) -> None:
        super().__init__(steps, warmup=warmup)
        self.final = final

    def after(self, step: int, done: float) -> float:
        return 1 + (self.final - 1) * min(done, 1.0)


@register("schedule", "noam")
class Noam(Schedule):
    """One over the square root of the step, the peak at the warm-up's end (Vaswani et al., 2017)."""

    def __init__(self, steps: int, *, warmup: Warmup = 0.1) -> None:
        super().__init__(steps, warmup=warmup)

    def after(self, step: int, done: float) -> float:
        return math.sqrt(max(1, self.warmup) / (step + 1))


@register("schedule", "plateau")
class Plateau(Schedule):
    """The rate times ``shrink`` whenever ``patience`` validations in a row have not improved ``training.monitor``."""

    def __init__(
        self, steps: int, *, warmup: Warmup = 0.0, shrink: Probability = 0.5, patience: Positive = 2, least: Share = 0.0
    ) -> None:
        super().__init__(steps, warmup=warmup)
        self.shrink, self.patience, self.least = shrink, patience, least
        self.share, self.bad = 1.0, 0

    def after(self, step: int, done: float) -> float:
        return self.share

    def validated(self, better: bool) -> None:
        self.bad = 0 if better else self.bad + 1
        if self.bad >= self.patience:
            self.share, self.bad = max(self.least, self.share * self.shrink), 0

    def state_dict(self) -> dict[str, float]:
        return {"share": self.share, "bad": self.bad}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        self.share, self.bad = state["share"], int(state["bad"])


class ScheduledRate(LRScheduler):
    """A schedule as torch and Lightning know it: the rate of every group of an optimiser, after ``done`` steps."""

    def __init__(self, optimiser: Optimizer, schedule: Schedule, done: int = 0) -> None:
        self.schedule = schedule
        for group in optimiser.param_groups:
            group["initial_lr"] = group["lr"]
        super().__init__(optimiser, done - 1)

    def get_lr(self) -> list[float | Tensor]:
        share = self.schedule.factor(self.last_epoch)  # torch counts steps under this name
        return [peak * share for peak in self.base_lrs]

    def refresh(self) -> None:
        """Set the rates of the next step again, after a validation that the schedule depends on."""
        for group, rate in zip(self.optimizer.param_groups, self.get_lr(), strict=True):
            group["lr"] = rate

    def state_dict(self) -> dict[str, Any]:
        return {"step": self.last_epoch, "schedule": self.schedule.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.last_epoch = state["step"]
        self.schedule.load_state_dict(state["schedule"])
        self.refresh()


#: Makes a schedule from the number of steps of the run.
MakeSchedule = Callable[[int], Schedule]


def bind_schedule(config: Mapping[str, Any], locate: Locate = lambda path: "") -> MakeSchedule:
    """Check a config's ``schedule`` section, and return the function that makes the schedule."""
    return bind_entry("schedule", config, locate)
