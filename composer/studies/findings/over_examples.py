"""The single test examples of the compared runs: differences on other examples, and quality by length.

Another seed may give another result, and so may another test set. Verdicts are over seeds; here the test examples are
resampled (bootstrap.py), the same ones for the arm and for the best, which gives the interval of their difference over
test sets of this size. The models stay those that were trained.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from composer.core.problems import UserError, listed
from composer.metrics.bootstrap import interval_around
from composer.metrics.evaluation import CONFIDENCE
from composer.studies.findings.compared_tasks import Task
from composer.studies.findings.verdicts import Verdict
from composer.studies.formatting import between
from composer.studies.records.arms import Arm
from composer.studies.records.run_records import ComparedRun
from composer.studies.statistics.over_seeds import Estimate, estimate
from composer.training.run.example_records import ExampleRecord
from composer.training.run.record import TEST

#: Arms that the note in the terminal gives intervals of.
NAMED = 8

#: Lengths of fewer than this share of the test examples, such as that of the last window of a text, are not drawn.
LENGTH_SHARE = 0.01


@dataclass(frozen=True)
class OverExamples:
    """An arm against the best, with the test examples resampled.

    difference: the arm minus the best, of the runs of the seeds that both have, else of all their runs
    interval: its 95 % interval over test sets; None where there is none
    missing: why there is no interval; empty where there is one
    """

    difference: float
    interval: tuple[float, float] | None = None
    missing: str = ""

    @property
    def includes_zero(self) -> bool:
        return self.interval is not None and self.interval[0] <= 0 <= self.interval[1]


@dataclass(frozen=True)
class LengthPoint:
    """The quality of an arm on so many test examples of ``low`` to ``high`` steps."""

    low: int
    high: int
    examples: int
    quality: Estimate


@dataclass(frozen=True)
class LengthCurve:
    """An arm's quality by length, the shortest examples first, and the lengths that it was trained on."""

    arm: str
    points: tuple[LengthPoint, ...]
    trained: tuple[int, int]


def over_examples(task: Task, metric: str) -> dict[str, OverExamples]:
    """The interval over examples of every arm but the best; empty where the metric is not of the test split."""
    if not metric.startswith(TEST):
        return {}
    best, *others = task.arms
    paired = {verdict.arm: verdict.paired for verdict in task.verdicts}
    known = [arm for arm in others if arm.runs and best.runs]
    return {arm.name: _against(arm, best, metric, paired=paired.get(arm.name, False)) for arm in known}


def _against(arm: Arm, best: Arm, metric: str, *, paired: bool) -> OverExamples:
    first, second = list(arm.runs), list(best.runs)
    if paired:
        by_seed = {run.seed: run for run in second}
        first = [run for run in first if run.seed in by_seed]
        second = [by_seed[run.seed] for run in first]
    difference = float(np.mean([run.result[metric] for run in first]) - np.mean([run.result[metric] for run in second]))
    try:
        own, others = ([_record(run, metric) for run in runs] for runs in (first, second))
    except UserError as error:
        return OverExamples(difference, missing=str(error))
    pairs = zip(own, others, strict=True) if paired else ((one, others[0]) for one in (*own, *others))
    resampling = {(record.draws, len(record.resampled)) for record in (*own, *others)}
    if len(resampling) > 1 or any(one.identity != other.identity for one, other in pairs):
        return OverExamples(difference, missing=f"{arm.name} and {best.name} had other test examples")
    resampled = _mean(own) - _mean(others)
    interval = interval_around(difference, torch.from_numpy(resampled), CONFIDENCE)
    if not all(map(math.isfinite, interval)):
        return OverExamples(difference, missing=f"{metric} of resampled examples is not a number")
    return OverExamples(difference, interval)


def _record(run: ComparedRun, metric: str) -> ExampleRecord:
    record = run.examples(metric.removeprefix(TEST))
    if record is None:
        raise UserError(f"{run.name} kept no record of its test examples")
    return record


def _mean(records: Sequence[ExampleRecord]) -> np.ndarray:
    return np.mean([record.resampled for record in records], axis=0)


def fragile(verdicts: Sequence[Verdict], found: Mapping[str, OverExamples]) -> str:
    """A sentence about arms that are worse over seeds, but not beyond chance over examples; empty if there is none."""
    unsure = {name for name, each in found.items() if each.includes_zero}
    names = [verdict.arm for verdict in verdicts if verdict.distinguishable and verdict.arm in unsure]
    if not names:
        return ""
    one = len(names) == 1
    return (
        f"The difference{'s' * (not one)} of {listed(names)} from {verdicts[0].best} {'is' if one else 'are'} beyond "
        f"chance over seeds, but not over examples: another test set might not show {'it' if one else 'them'}."
    )


def in_words(found: Mapping[str, OverExamples]) -> str:
    """The intervals over examples in a sentence, for the terminal; empty if there are none."""
    known = [f"{arm} {between(*each.interval)}" for arm, each in found.items() if each.interval is not None]
    more = f" and {len(known) - NAMED} more" if len(known) > NAMED else ""
    what = "Differences from the best on another test set (95 % intervals over resampled examples)"
    return f"{what}: {', '.join(known[:NAMED])}{more}." if known else ""


def why_missing(found: Mapping[str, OverExamples]) -> str:
    """Why some arms have no interval over examples, in a sentence; empty if all have one."""
    reasons = list(dict.fromkeys(each.missing for each in found.values() if each.missing))
    return f"No interval over examples: {listed(reasons, 3)}." if reasons else ""


def quality_by_length(arms: Sequence[Arm], metric: str) -> tuple[LengthCurve, ...]:
    """The quality of the arms on test examples of some lengths; without arms whose runs recorded no lengths."""
    bare = metric.removeprefix(TEST)
    curves = (_curve(arm, bare) for arm in arms) if metric.startswith(TEST) else ()
    return tuple(curve for curve in curves if curve is not None)


def _curve(arm: Arm, metric: str) -> LengthCurve | None:
    try:
        found = [run.examples(metric) for run in arm.runs]
    except UserError:  # ``over_examples`` says it
        return None
    records = [record for record in found if record is not None]
    if len(records) < len(found) or len({record.bins.tobytes() for record in records}) != 1:
        return None
    points = []
    bins = records[0].bins.tolist()
    fewest = LENGTH_SHARE * sum(count for _, _, count in bins)
    for place, (low, high, count) in enumerate(bins):
        values = [float(record.by_length[place]) for record in records]
        if count >= fewest and all(map(math.isfinite, values)):
            points.append(LengthPoint(low, high, count, estimate(values)))
    shortest, longest = records[0].trained.tolist()
    return LengthCurve(arm.name, tuple(points), (shortest, longest)) if len(points) > 1 else None
