"""Budgets: what every arm of a study gets alike, and the width or the number of steps at which an arm meets it.

parameters    trainable and frozen, all or a part of them (``count``); the width of the arm is solved
flops         of the forward pass per token, at the lengths of the training data; the width is solved
train_flops   of the whole training, 3 x those of the forward pass; the width is the arm's own, the steps are solved
seconds       of training steps, as measured on this machine; the width is the arm's own, the number of steps is solved

A width is solved on the meta device, where a model has shapes but no memory. A fixed amount of training could be spent
on a wide model for a few steps or on a narrow one for many. Which is better is a question of its own, so the last two
kinds of budget leave the width to the study and solve the steps. FLOPs are counted row by row at the rows' own lengths:
see composer/graph/flops.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

from lightning import Callback, Trainer

from composer.core.problems import UserError
from composer.graph.describe import Count, count_parameters, count_part, human
from composer.graph.flops import TRAINING, total_flops
from composer.graph.graph import Graph
from composer.studies.planning.scalable_arm import ScalableArm
from composer.studies.planning.width_search import find_width
from composer.training.module import TrainingModule
from composer.training.run.feed import TrainingRows
from composer.training.run.plan import TrainingPlan
from composer.training.run.train import materialise, take_steps

Kind = Literal["parameters", "flops", "train_flops", "seconds"]

#: The kinds of budget that a width meets. The others are met by a number of steps.
BY_WIDTH: tuple[Kind, ...] = ("parameters", "flops")

#: Steps that are taken before the clock starts, and steps that are timed.
WARM_UP, TIMED = 5, 10

#: The largest residual that counts as meeting a budget exactly.
TOLERANCE = 0.02

#: The key that is solved where a budget is met by a number of steps.
STEPS = "training.steps"

UNITS: dict[Kind, str] = {
    "parameters": "parameters",
    "flops": "FLOPs per token",
    "train_flops": "FLOPs of training",
    "seconds": "seconds",
}

#: What a budget of parameters counts, by ``count``.
COUNTED: dict[Count, str] = {
    "all": "parameters",
    "non_embedding": "non-embedding parameters",
    "mixer": "parameters of mixers",
}


@dataclass(frozen=True)
class Solved:
    """How an arm meets a budget.

    reached: the arm's size, in the units of the target
    setting: the key that was solved, ``model.dim`` or ``training.steps``, and its value
    following: the keys that follow the first in proportion, and their values
    count: the parameters that were counted
    """

    kind: Kind
    target: float
    reached: float
    setting: tuple[str, int]
    following: tuple[tuple[str, int], ...] = ()
    count: Count = "all"

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Solved:
        """The plain data of ``dataclasses.asdict``, in which tuples may have become lists."""
        following = tuple((key, value) for key, value in facts.get("following", ()))
        return cls(**{**facts, "setting": tuple(facts["setting"]), "following": following})

    @property
    def residual(self) -> float:
        """How far the size is from the target, as a share of the target; negative below it."""
        return self.reached / self.target - 1

    @property
    def settings(self) -> tuple[str, ...]:
        """The solved keys with their values."""
        return tuple(f"{key}={value}" for key, value in (self.setting, *self.following))

    @property
    def overrides(self) -> tuple[str, ...]:
        return (*self.settings, "training.epochs=null") if self.setting[0] == STEPS else self.settings

    @property
    def unit(self) -> str:
        return unit(self.kind, self.count)

    @property
    def note(self) -> str:
        """What has to be said where the target is missed by more than the tolerance; otherwise nothing."""
        if abs(self.residual) <= TOLERANCE:
            return ""
        side = "above" if self.residual > 0 else "below"
        return f"{abs(self.residual):.1%} {side} the budget: no other value of {self.setting[0]} is nearer"

    def record(self) -> dict[str, Any]:
        """What is recorded with every run: ``budget`` in its run.json and its config."""
        return {
            "kind": self.kind,
            "target": _plain(self.target),
            "reached": _plain(self.reached),
            "residual": round(self.residual, 4),
        } | ({} if self.count == "all" else {"count": self.count})


class Unreachable(UserError):
    """An arm cannot meet the budget."""


def unit(kind: Kind, count: Count) -> str:
    return COUNTED[count] if kind == "parameters" else UNITS[kind]


def model_size(kind: Kind, graph: Graph, rows: Callable[[], TrainingRows], count: Count = "all") -> float:
    """The parameters of a graph, or its FLOPs per token.

    rows: the training data of the graph, which is read for FLOPs alone
    """
    if kind == "parameters":
        return count_parameters(graph) if count == "all" else count_part(graph, count)
    return total_flops(graph, rows().counts) / rows().tokens


def training_size(kind: Kind, plan: TrainingPlan) -> float:
    """The FLOPs or the seconds of one training step."""
    if kind == "seconds":
        return seconds_per_step(plan)
    rows = TrainingRows.of_steps(plan)
    return TRAINING * total_flops(plan.meta, rows.counts) / rows.steps


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


def solve_width(arm: ScalableArm, kind: Kind, target: float, start: int, count: Count = "all") -> Solved:
    """The width at which an arm is nearest to the target.

    start: the first width that is tried
    """

    def size(width: int) -> float:
        found = model_size(kind, arm.graph(width), lambda: arm.rows(width), count)
        if not found:
            raise Unreachable(f"it has no {unit(kind, count)} to compare. Choose another study.budget.kind or count.")
        return found

    sizes = find_width(size, target, start)
    width = min(sizes, key=lambda width: abs(sizes[width] - target))
    first, *following = arm.settings(width).items()
    solved = Solved(kind, target, sizes[width], first, tuple(following), count)
    shown = " ".join(solved.overrides)
    if solved.note and width == min(sizes) and sizes[width] > target:
        raise Unreachable(
            f"it cannot have as few as {human(target)} {solved.unit}: even with {shown}, the smallest value that "
            f"its blocks accept, it has {human(sizes[width])}. Raise the budget, or shrink what does not depend on "
            f"{first[0]}, e.g. the vocabulary."
        )
    if solved.note and width == max(sizes) and sizes[width] < target:
        raise Unreachable(
            f"it cannot have as many as {human(target)} {solved.unit}: with {shown} it has {human(sizes[width])}."
        )
    return solved


def solve_steps(kind: Kind, target: float, step: float) -> Solved:
    """The number of steps that spends the target.

    step: the FLOPs or the seconds of one training step
    """
    steps = round(target / step)
    if steps < 1:
        raise Unreachable(
            f"not one training step fits into {human(target)} {UNITS[kind]}: a step takes {human(step)}. Raise the "
            "budget, or take a smaller width or batch."
        )
    return Solved(kind, target, steps * step, (STEPS, steps))


def default_size(kind: Kind, plan: TrainingPlan, count: Count = "all") -> float:
    """The size of an arm as it is configured: the target of the others where a budget is that ``of`` this arm."""
    if kind in BY_WIDTH:
        return model_size(kind, plan.meta, cache(lambda: TrainingRows.of(plan)), count)
    return plan.total_steps() * training_size(kind, plan)


def _plain(number: float) -> float | int:
    """The number as it is written into a config: whole where it is whole, otherwise with six digits."""
    return int(number) if number == int(number) else float(f"{number:.6g}")
