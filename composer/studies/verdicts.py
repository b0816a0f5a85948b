"""Arms, and the verdict on each: is the arm worse than the best one, or could the difference be chance?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from composer.studies.runs import RunRecord
from composer.studies.statistics import (
    LEVEL,
    MOST_SEEDS,
    Estimate,
    TTest,
    estimate,
    holm,
    paired_test,
    seeds_needed,
    welch_test,
)

#: The metric that compares a forecast with a naive one.
OVER_NAIVE = "mse_over_naive"


@dataclass(frozen=True)
class Arm:
    """Runs that differ in their seeds alone.

    runs: the finished runs, by seed
    overrides: those that set the arm apart from the others
    """

    name: str
    runs: tuple[RunRecord, ...]
    overrides: tuple[str, ...]

    def quality(self, metric: str) -> Estimate:
        """The metric of the best checkpoints, over seeds."""
        return estimate([run.result[metric] for run in self.runs])

    def measured(self, metric: str) -> bool:
        """Whether every run has the metric. Some are NaN where the data has nothing to measure, as BLEU is."""
        return all(math.isfinite(run.result.get(metric, math.nan)) for run in self.runs)

    @property
    def parameters(self) -> Estimate | None:
        return self._mean(lambda run: run.parameters)

    @property
    def flops_per_token(self) -> Estimate | None:
        """Of the forward pass; training takes about three times as many."""
        return self._mean(lambda run: run.flops_per_token)

    @property
    def seconds(self) -> Estimate | None:
        return self._mean(lambda run: run.seconds)

    @property
    def tokens_per_second(self) -> Estimate | None:
        return self._mean(lambda run: run.tokens_per_second)

    @property
    def peak_memory(self) -> Estimate | None:
        return self._mean(lambda run: run.peak_memory)

    def _mean(self, value: Callable[[RunRecord], float | None]) -> Estimate | None:
        """The mean over the runs that know the value; None if no run does."""
        known = [found for run in self.runs if (found := value(run)) is not None]
        return estimate(known) if known else None


@dataclass(frozen=True)
class Verdict:
    """An arm against the best arm.

    difference: the arm minus the best; paired by seed where two or more seeds are shared, else Welch's interval
    p: of the two-sided test, after Holm's correction; None if it cannot be told, with one seed
    distinguishable: whether p is below 0.05; None if it cannot be told
    seeds_needed: the fewest seeds with which the difference seen would be found with a power of 80 %, for an arm that
        is not distinguishable; None if these are more than 1,000
    untuned: why the arm is not tuned, so that there is no verdict; empty for an arm that is
    """

    arm: str
    best: str
    difference: Estimate
    p: float | None
    distinguishable: bool | None
    seeds_needed: int | None
    paired: bool
    untuned: str = ""

    @property
    def words(self) -> str:
        """The verdict for people: 'worse', 'not distinguishable (12 seeds)', 'too few seeds', 'not tuned: ...'."""
        if self.untuned:
            return f"not tuned: {self.untuned}"
        if self.distinguishable is None:
            return "too few seeds"
        if self.distinguishable:
            return "worse"
        if self.difference.mean == self.difference.half == 0:
            return "equal"
        seeds = f"> {MOST_SEEDS:,}" if self.seeds_needed is None else f"{self.seeds_needed:,}"
        return f"not distinguishable ({seeds} seeds)"


def judge(
    arms: Sequence[Arm], metric: str, direction: str = "min", untuned: Mapping[str, str] = MappingProxyType({})
) -> tuple[Verdict, ...]:
    """A verdict for every arm but the first, which is the best.

    untuned: arms that are not tuned, with the reasons: nothing is said of them
    """
    if not arms:
        return ()
    best, *others = arms
    tests = [_test(arm, best, metric) for arm in others]
    judged = [arm.name not in untuned for arm in others]
    told = [test.p for test, counts in zip(tests, judged, strict=True) if test.p is not None and counts]
    corrected = iter(holm(told))
    verdicts = []
    for arm, test, counts in zip(others, tests, judged, strict=True):
        p = next(corrected) if test.p is not None and counts else None
        distinguishable = p < LEVEL if p is not None else None
        needed = seeds_needed(test, len(told)) if distinguishable is False else None
        verdicts.append(
            Verdict(
                arm.name, best.name, test.difference, p, distinguishable, needed, test.paired, untuned.get(arm.name, "")
            )
        )
    return tuple(verdicts)


def best_against_naive(arms: Sequence[Arm], metric: str) -> tuple[Arm, Estimate] | None:
    """The arm with the lowest squared error over that of the naive forecast, of the head and on the split of a metric.

    None where no arm was compared with a naive forecast.
    """
    ratio = f"{metric.rpartition('/')[0]}/{OVER_NAIVE}"
    found = [(arm, arm.quality(ratio)) for arm in arms if arm.measured(ratio)]
    return min(found, key=lambda pair: pair[1].mean) if found else None


def _test(arm: Arm, best: Arm, metric: str) -> TTest:
    """The paired test over the seeds that both arms have, if these are two or more, else Welch's test over all runs."""
    own, others = ({run.seed: run.result[metric] for run in each.runs if run.seed is not None} for each in (arm, best))
    shared = [seed for seed in own if seed in others]
    if len(shared) >= 2 or len(shared) == len(arm.runs) == len(best.runs):
        return paired_test([own[seed] for seed in shared], [others[seed] for seed in shared])
    return welch_test(arm.quality(metric).values, best.quality(metric).values)
