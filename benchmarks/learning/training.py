"""One run: a plain training loop for both sides, and what it reached along the way.

For our graph the loop does what ``train.py`` does: the same batches in the same order, loss, clipping, optimiser and
schedule. A test holds that both end with the same weights. Only the time of the steps themselves is counted: forward,
backward, clipping and optimiser, without making batches and without validation. CPU seconds are those of this process,
which hold on a busy machine, too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

import torch
from torch import nn

from benchmarks.learning.learners import Learner, learner_for
from benchmarks.learning.results import Point, Run
from benchmarks.learning.task import Task
from benchmarks.learning.tasks import TASKS
from composer.batching import drawn_rows
from composer.config.composition import compose
from composer.graph.graph import evaluating
from composer.metrics import find_metric, scores_for
from composer.metrics.evaluation import Score
from composer.objectives import Batch
from composer.training.optimisation.optimisers import bind_optimiser
from composer.training.optimisation.schedules import bind_schedule
from composer.training.run.plan import TrainingPlan, prepare

#: Rows of a batch that is only measured.
MEASURED = 64


@cache
def plan_of(overrides: tuple[str, ...]) -> TrainingPlan:
    """The data and the graph on the meta device, once a process."""
    return prepare(compose(overrides))


def task_plan(task: Task, arm: str, folder: Path) -> TrainingPlan:
    """The plan of one of our models; of a peer, that of the model it is compared with."""
    _, ours = task.arms[arm]
    return plan_of((*task.data(folder), *ours.overrides))


def train(name: str, arm: str, *, factor: float, seed: int, steps: int, validate_rows: int | None, folder: Path) -> Run:
    """A run of one model of a task.

    factor: what its usual learning rate is multiplied by
    """
    task = TASKS[name]
    plan = task_plan(task, arm, folder)
    plan = replace(plan, composed=replace(plan.composed, values={**plan.composed.values, "seed": seed}))
    chosen, _ = task.arms[arm]
    learner = learner_for(chosen, plan, seed)
    rate = factor * learner.rate
    points = list(course(learner, plan, task, rate=rate, steps=steps, validate_rows=validate_rows))
    count = sum(parameter.numel() for parameter in learner.model.parameters())
    return Run(name, arm, steps, factor, rate, seed, count, points)


def course(
    learner: Learner, plan: TrainingPlan, task: Task, *, rate: float, steps: int, validate_rows: int | None
) -> Iterator[Point]:
    """Train, and measure now and then. A loss that is no number ends the run, as do the task's goal and patience."""
    examples = validation(plan, validate_rows)
    if not any(True for _ in learner.model.parameters()):  # nothing to learn
        yield Point(steps, 0.0, 0.0, measure(learner, plan, task, examples))
        return
    every, seconds, cpu_seconds = steps // task.measured or steps, 0.0, 0.0
    lowest, in_vain = math.inf, 0
    for step, loss, wall, cpu in taken_steps(learner, plan, rate=rate, steps=steps):
        if not math.isfinite(loss):
            return
        seconds, cpu_seconds = seconds + wall, cpu_seconds + cpu
        if step % every == 0 or step == steps:
            point = Point(step, seconds, cpu_seconds, measure(learner, plan, task, examples))
            yield point
            cost = task.cost(point.figures)
            lowest, in_vain = (cost, 0) if cost < lowest else (lowest, in_vain + 1)
            if (task.goal is not None and point.reaches(*task.goal)) or in_vain == task.patience:
                return


def taken_steps(
    learner: Learner, plan: TrainingPlan, *, rate: float, steps: int
) -> Iterator[tuple[int, float, float, float]]:
    """Take so many steps: the number of each, its loss, its seconds and those of the CPU."""
    parameters = list(learner.model.named_parameters())
    optimiser = bind_optimiser({**learner.optimiser, "learning_rate": rate})(parameters)
    schedule = bind_schedule(learner.schedule)(steps)
    learner.model.train()
    batches = plan.loader().forever()
    for step, (batch,) in enumerate(islice(batches, steps)):
        began, cpu_began = time.perf_counter(), time.process_time()
        for group in optimiser.param_groups:
            group["lr"] = rate * schedule.factor(step)
        optimiser.zero_grad()
        loss = learner.loss(batch)
        loss.backward()
        if plan.training.clip is not None:
            nn.utils.clip_grad_norm_([parameter for _, parameter in parameters], plan.training.clip)
        optimiser.step()
        took, cpu_took = time.perf_counter() - began, time.process_time() - cpu_began
        yield step + 1, float(loss.detach()), took, cpu_took


def validation(plan: TrainingPlan, limit: int | None) -> list[Batch]:
    """Rows of the validation split, drawn as every evaluation draws them: the same for every model and seed."""
    rows = drawn_rows(plan.objective.size("valid"), limit)
    return [plan.objective.batch("valid", part) for part in rows.split(MEASURED)]


@torch.no_grad()
def measure(learner: Learner, plan: TrainingPlan, task: Task, examples: list[Batch]) -> dict[str, float]:
    """The task's figures over these examples; those that cannot be told are left out."""
    bleu = {head.name: find_metric("bleu")(plan.meta.target(head)) for head in plan.meta.heads}
    known = {"bleu": Score(bleu), **scores_for(plan.meta)}  # symbols that are no text have a BLEU here, too
    scores = {name: known[name] for name in task.figures}
    sums = {name: torch.zeros(score.width, dtype=torch.float64) for name, score in scores.items()}
    left = task.decode_rows
    with evaluating(learner.model):
        for batch in examples:
            views = learner.views(batch, decode=left is None or left > 0)
            left = None if left is None else max(0, left - batch.rows)
            for name, score in scores.items():
                sums[name] += score.rows(views).sum(0)
    values = {name: float(score.value(sums[name])) for name, score in scores.items()}
    return {name: value for name, value in values.items() if math.isfinite(value)}
