"""The results as a table: for every model its best learning rate, and its figures over the seeds with intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from benchmarks.learning.results import Run, best_factor
from benchmarks.learning.task import Ours, Peer, Task

#: Student's t for a two-sided interval of 95 %, by degrees of freedom.
T95 = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, and how far from it the bounds of its 95 % interval are; nan for a single seed."""

    mean: float
    half: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        if not values:
            return cls(math.nan, math.nan)
        if len(values) < 2:
            return cls(values[0], math.nan)
        freedom = len(values) - 1
        return cls(mean(values), T95.get(freedom, 1.96) * stdev(values) / math.sqrt(len(values)))

    def __str__(self) -> str:
        if math.isnan(self.mean):
            return "-"
        return f"{self.mean:.4g}" if math.isnan(self.half) else f"{self.mean:.4g} ± {self.half:.2g}"


@dataclass(frozen=True)
class Line:
    """A model in the table.

    runs: those with its best learning rate, one a seed
    tried: how many learning rates were tried
    """

    arm: str
    runs: list[Run]
    tried: int

    def figure(self, task: Task, name: str) -> Estimate:
        """A figure at each run's best checkpoint."""
        values = [run.best(task).figures.get(name, math.nan) for run in self.runs]
        return Estimate.of([value for value in values if not math.isnan(value)])

    @property
    def milliseconds(self) -> float:
        """Of the CPU, a step."""
        times = [run.points[-1].cpu_seconds / run.points[-1].step * 1e3 for run in self.runs if run.points]
        return mean(times) if times else math.nan


def line_of(task: Task, arm: str, runs: Sequence[Run], steps: int) -> Line | None:
    """A model's line; None where it never ran for so many steps."""
    own = [run for run in runs if (run.task, run.arm, run.steps) == (task.name, arm, steps)]
    if not own:
        return None
    best = best_factor(task, own, min(run.seed for run in own))
    chosen = sorted((run for run in own if run.factor == best), key=lambda run: run.seed)
    return Line(arm, chosen, len({run.factor for run in own}))


def verdict(task: Task, ours: Line, peer: Line) -> str:
    """Whether our cost is lower, by the differences of runs that have their seed, and so their batches, in common."""
    theirs = {run.seed: task.cost(run.best(task).figures) for run in peer.runs}
    own = {run.seed: task.cost(run.best(task).figures) for run in ours.runs}
    if len(theirs) == 1 and peer.runs[0].parameters == 0:  # a forecast without parameters has no seeds
        theirs = dict.fromkeys(own, next(iter(theirs.values())))
    differences = [own[seed] - theirs[seed] for seed in own if seed in theirs]
    finite = [value for value in differences if math.isfinite(value)]
    if not finite or len(finite) < len(differences):
        return f"{peer.arm}: no result"
    found = Estimate.of(finite)
    if math.isnan(found.half):
        side = "better" if found.mean < 0 else "worse"
        return f"{side} than {peer.arm} (one seed)"
    if abs(found.mean) <= found.half:
        return f"not distinguishable from {peer.arm}"
    return f"{'better' if found.mean < 0 else 'worse'} than {peer.arm}"


def table(task: Task, runs: Sequence[Run], steps: int) -> list[str]:
    """Lines of a Markdown table."""
    names = [name.replace("_", " ") for name in task.figures]
    goal = [f"steps to {task.goal[0]} {task.goal[1]:g}"] if task.goal is not None else []
    head = ["model", "parameters", "learning rate", *names, *goal, "ms a step", "ours is" if any(task.pairs()) else ""]
    rows = [head, ["---"] * len(head)]
    lines = {arm: line_of(task, arm, runs, steps) for arm in task.arms}
    for name, (arm, _) in task.arms.items():
        line = lines[name]
        if line is None:
            rows.append([name, reason(arm), *[""] * (len(head) - 2)])
            continue
        figures = [str(line.figure(task, figure)) for figure in task.figures]
        pairs = [lines[peer] for ours, peer in task.pairs() if ours == name]
        verdicts = "; ".join(verdict(task, line, peer) for peer in pairs if peer is not None)
        learned = line.runs[0].parameters > 0
        rate = f"{line.runs[0].rate:g}" if learned else "-"
        cost = f"{line.milliseconds:.0f}" if learned and not math.isnan(line.milliseconds) else "-"
        if task.goal is not None:
            steps_taken = [run.reached(*task.goal) for run in line.runs]
            figures.append(" ".join("never" if taken is None else str(taken) for taken in steps_taken))
        rows.append([name, f"{line.runs[0].parameters:,}", rate, *figures, cost, verdicts])
    return ["| " + " | ".join(row) + " |" for row in rows]


def reason(arm: Ours | Peer) -> str:
    """Why a model has no result."""
    return f"not installed: {arm.install}" if isinstance(arm, Peer) and arm.missing else "not run"
