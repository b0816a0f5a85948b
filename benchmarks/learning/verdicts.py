"""Whether ours is better or worse than a peer: a t-test over the seeds, corrected for all comparisons of the page.

The differences are between runs of the same seed, which read the same batches. Holm's correction (1979) holds the
probability of any false "better" or "worse" on the page at 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

from benchmarks.learning.results import Run, best_factor
from benchmarks.learning.task import Task
from composer.studies.statistics.distributions import critical_t, two_sided_p

LEVEL = 0.05

#: What can be said of ours, in the order of the page.
OUTCOMES = (
    BETTER, BETTER_ALONE, NOT_DISTINGUISHABLE, WORSE_ALONE, WORSE, NO_VERDICT,
) = (
    "better", "better, but only before the correction", "not distinguishable", "worse, but only before the correction",
    "worse", "without a verdict",
)  # fmt: skip

#: The task, our model and the peer.
Pair = tuple[str, str, str]


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
        return cls(mean(values), critical_t(LEVEL, len(values) - 1) * stdev(values) / math.sqrt(len(values)))

    def __str__(self) -> str:
        if math.isnan(self.mean):
            return "-"
        return f"{self.mean:.4g}" if math.isnan(self.half) else f"{self.mean:.4g} ± {self.half:.2g}"


@dataclass(frozen=True)
class Line:
    """A model in the table.

    runs: those with its best learning rate, one a seed
    rates: all learning rates that were tried, the lowest first
    """

    arm: str
    runs: list[Run]
    rates: tuple[float, ...]

    def figure(self, task: Task, name: str) -> Estimate:
        """A figure at each run's best checkpoint."""
        values = [run.best(task).figures.get(name, math.nan) for run in self.runs]
        return Estimate.of([value for value in values if not math.isnan(value)])

    @property
    def learns(self) -> bool:
        return self.runs[0].parameters > 0

    @property
    def untuned(self) -> str:
        """Why the best learning rate may lie elsewhere; empty if rates on both sides of it were tried."""
        if not self.learns or self.rates[0] < self.runs[0].rate < self.rates[-1]:
            return ""
        if len(self.rates) == 1:
            return "only one rate was tried"
        return f"its best rate is the {'highest' if self.runs[0].rate == self.rates[-1] else 'lowest'} tried"


def line_of(task: Task, arm: str, runs: Sequence[Run], steps: int) -> Line | None:
    """A model's line; None where it never ran for so many steps."""
    own = [run for run in runs if (run.task, run.arm, run.steps) == (task.name, arm, steps)]
    if not own:
        return None
    best = best_factor(task, own, min(run.seed for run in own))
    chosen = sorted((run for run in own if run.factor == best), key=lambda run: run.seed)
    return Line(arm, chosen, tuple(sorted({run.rate for run in own})))


@dataclass(frozen=True)
class Verdict:
    """Our cost minus the peer's: less is better for ours.

    p: that of the t-test before the correction; None without a test
    without: why there is no test; empty if there is one
    significant: whether the corrected p-value is below 5 %
    """

    difference: Estimate
    p: float | None = None
    without: str = ""
    significant: bool = False

    @property
    def outcome(self) -> str:
        if self.p is None:
            return NO_VERDICT
        if self.p >= LEVEL:
            return NOT_DISTINGUISHABLE
        if self.difference.mean < 0:
            return BETTER if self.significant else BETTER_ALONE
        return WORSE if self.significant else WORSE_ALONE

    @property
    def words(self) -> str:
        return f"{self.outcome}: {self.without}" if self.p is None else f"{self.outcome} (p {self.p:.2g})"


def compare(task: Task, ours: Line, peer: Line) -> Verdict:
    """The t-test of the differences between runs of the same seed, not corrected."""
    theirs = {run.seed: task.cost(run.best(task).figures) for run in peer.runs}
    own = {run.seed: task.cost(run.best(task).figures) for run in ours.runs}
    if not peer.learns:  # a forecast without parameters has no seeds
        theirs = dict.fromkeys(own, next(iter(theirs.values())))
    differences = [own[seed] - theirs[seed] for seed in own if seed in theirs]
    if not all(math.isfinite(value) for value in differences):
        return Verdict(Estimate.of([]), without="a run diverged")
    difference = Estimate.of(differences)
    for line in (ours, peer):
        if line.untuned:
            return Verdict(difference, without=f"{line.arm}: {line.untuned}")
    if len(differences) < 2:
        return Verdict(difference, without="fewer than two seeds")
    freedom, error = len(differences) - 1, stdev(differences) / math.sqrt(len(differences))
    if error == 0:
        return Verdict(difference, without="the seeds do not differ")
    return Verdict(difference, two_sided_p(difference.mean / error, freedom))


def verdicts(tasks: Sequence[Task], runs: Sequence[Run], steps: int | None) -> dict[Pair, Verdict]:
    """Every comparison of the page, corrected for their number."""
    found = dict(_comparisons(tasks, runs, steps))
    return found | _corrected(found)


def _comparisons(tasks: Sequence[Task], runs: Sequence[Run], steps: int | None) -> Iterator[tuple[Pair, Verdict]]:
    for task in tasks:
        lines = {arm: line_of(task, arm, runs, steps or task.steps) for arm in task.arms}
        for ours, peer in task.pairs():
            own, other = lines[ours], lines[peer]
            if own is not None and other is not None:
                yield (task.name, ours, peer), compare(task, own, other)


def _corrected(found: Mapping[Pair, Verdict]) -> dict[Pair, Verdict]:
    """Holm: the smallest p-value against 5 % / n, the next against 5 % / (n - 1), up to the first that fails."""
    tested = sorted((verdict.p, pair) for pair, verdict in found.items() if verdict.p is not None)
    result = {}
    for rank, (p, pair) in enumerate(tested):
        if p * (len(tested) - rank) >= LEVEL:
            break
        result[pair] = Verdict(found[pair].difference, p, significant=True)
    return result
