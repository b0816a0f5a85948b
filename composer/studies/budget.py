"""Budgets: what every arm of a study gets alike, and the width or the number of steps at which an arm meets it.

parameters    trainable and frozen; the width of the arm is solved
flops         of the forward pass per token, as ``python -m composer describe`` counts them; the width is solved
train_flops   of the whole training, 3 x flops x tokens; the width is the arm's own, the number of steps is solved
seconds       of training steps, as measured on this machine; the width is the arm's own, the number of steps is solved

A width is solved on the meta device, where a model has shapes but no memory. A fixed amount of training could be spent
on a wide model for a few steps or on a narrow one for many. Which is better is a question of its own, so the last two
kinds of budget leave the width to the study and solve the steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from composer.core.problems import UserError
from composer.graph.describe import count_flops, count_parameters, human
from composer.graph.graph import Graph
from composer.studies.scalable_arm import ScalableArm
from composer.studies.step_cost import seconds_per_step, tokens_per_step
from composer.studies.width_search import find_width
from composer.training.run.plan import TrainingPlan
from composer.training.run.train import total_steps

Kind = Literal["parameters", "flops", "train_flops", "seconds"]

#: The kinds of budget that a width meets. The others are met by a number of steps.
BY_WIDTH: tuple[Kind, ...] = ("parameters", "flops")

#: The largest residual that counts as meeting a budget exactly.
TOLERANCE = 0.02

#: The length of the sequence for which FLOPs per token are counted, as in ``run.json``.
LENGTH = 128

#: FLOPs of a training step per FLOP of the forward pass: the backward pass computes two products for each.
TRAINING = 3

#: The key that is solved where a budget is met by a number of steps.
STEPS = "training.steps"

UNITS: dict[Kind, str] = {
    "parameters": "parameters",
    "flops": "FLOPs per token",
    "train_flops": "FLOPs of training",
    "seconds": "seconds",
}


@dataclass(frozen=True)
class Solved:
    """How an arm meets a budget.

    setting: the key that was solved, ``model.dim`` or ``training.steps``, and its value
    reached: the arm's size at this value, in the units of the target
    """

    kind: Kind
    target: float
    reached: float
    setting: tuple[str, int]

    @property
    def residual(self) -> float:
        """How far the size is from the target, as a share of the target; negative below it."""
        return self.reached / self.target - 1

    @property
    def overrides(self) -> tuple[str, ...]:
        key, value = self.setting
        return (f"{key}={value}", "training.epochs=null") if key == STEPS else (f"{key}={value}",)

    @property
    def note(self) -> str:
        """What has to be said where the target is missed by more than the tolerance; otherwise nothing."""
        if abs(self.residual) <= TOLERANCE:
            return ""
        side = "above" if self.residual > 0 else "below"
        return f"{abs(self.residual):.1%} {side} the budget: no other value of {self.setting[0]} is nearer"

    def record(self) -> dict[str, Any]:
        """What is recorded with every run: ``budget`` in its config and its run.json."""
        return {
            "kind": self.kind,
            "target": _plain(self.target),
            "reached": _plain(self.reached),
            "residual": round(self.residual, 4),
        }


class Unreachable(UserError):
    """An arm cannot meet the budget."""


def model_size(kind: Kind, graph: Graph) -> float:
    """The parameters of a graph, or its FLOPs per token."""
    return count_parameters(graph) if kind == "parameters" else sum(count_flops(graph, LENGTH).values())


def training_size(kind: Kind, plan: TrainingPlan) -> float:
    """The FLOPs or the seconds of one training step."""
    if kind == "seconds":
        return seconds_per_step(plan)
    return TRAINING * model_size("flops", plan.meta) * tokens_per_step(plan)


def solve_width(arm: ScalableArm, kind: Kind, target: float, key: str, start: int) -> Solved:
    """The width at which an arm is nearest to the target.

    start: the first width that is tried
    """
    sizes = find_width(lambda width: arm.measured(lambda graph: model_size(kind, graph), width), target, start)
    width = min(sizes, key=lambda width: abs(sizes[width] - target))
    solved = Solved(kind, target, sizes[width], (key, width))
    if solved.note and width == min(sizes) and sizes[width] > target:
        raise Unreachable(
            f"it cannot have as few as {human(target)} {UNITS[kind]}: even with {key}={width}, the smallest width that "
            f"its blocks accept, it has {human(sizes[width])}. Raise the budget, or shrink what does not depend on the "
            "width, e.g. the vocabulary."
        )
    if solved.note and width == max(sizes) and sizes[width] < target:
        raise Unreachable(
            f"it cannot have as many as {human(target)} {UNITS[kind]}: with {key}={width} it has {human(sizes[width])}."
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


def default_size(kind: Kind, plan: TrainingPlan) -> float:
    """The size of an arm as it is configured: the target of the others where a budget is that ``of`` this arm."""
    if kind in BY_WIDTH:
        return model_size(kind, plan.meta)
    return total_steps(plan) * training_size(kind, plan)


def _plain(number: float) -> float | int:
    """The number as it is written into a config: whole where it is whole, otherwise with six digits."""
    return int(number) if number == int(number) else float(f"{number:.6g}")
