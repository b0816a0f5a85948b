"""What the tuning of a study found: for every arm the quality by learning rate, and whether the arm is tuned.

The tuning is read from the records of its trials and followed again by its rule, so that a curve knows whether the
search came to an end, and why not.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from composer.core.problems import UserError
from composer.runs.record import SweepRecord
from composer.studies.formatting import these
from composer.studies.json_data import plain
from composer.studies.records.arm_names import grouped
from composer.studies.records.arms import Arm
from composer.studies.records.run_records import ComparedRun
from composer.studies.tuning.search_space import Interval, Point, Space
from composer.studies.tuning.tuning_rule import fewest, point_cost, search
from composer.studies.tuning.tuning_settings import Tuning
from composer.training.run.record import VALID

#: The window of an arm: the rates whose quality is within this share of the best one's.
WINDOW = 0.05

#: Scores between 0 and 1 are compared by what they lack of 1, and within this much of the best in any case.
SCORE_FLOOR = 0.01

#: The statuses of a trial that has a result, or never will.
ENDED = ("finished", "failed", "pruned")

#: How the ranking is tested: rates that are so many times the chosen one, and the words for them.
FACTORS = {0.5: "half", 2.0: "double"}


#: What programs and the report are told of a curve.
SHOWN = (
    "key", "metric", "rates", "qualities", "chosen", "window", "decades", "open_window", "untuned", "points", "trials",
    "seconds", "steps",
)  # fmt: skip


@dataclass(frozen=True)
class Curve:
    """The quality of an arm by its learning rate, or by the first other key of the space with a logarithmic range.

    arm: the name that the study gave it
    folder: of the study
    key: such as optimiser.learning_rate
    metric, direction: the judged metric of the tuning, and its better direction: min or max
    rates: those tried, in ascending order
    qualities: the means over the tuning seeds; NaN at a rate that could not be trained
    chosen: the rate of the final runs; None if no rate could be trained, or if the tuning is not done
    untuned: why the chosen rate may not be the best; empty for an arm that is tuned
    points, trials, seconds: what the tuning of the arm took, over all keys of the space: the time in training steps
    steps: of a tuning run: a share of the final run's, or a number; None for those of the final run
    """

    arm: str
    folder: Path
    key: str
    metric: str
    direction: str
    rates: tuple[float, ...]
    qualities: tuple[float, ...]
    chosen: float | None
    untuned: str
    points: int
    trials: int
    seconds: float
    steps: float | None = None

    @property
    def name(self) -> str:
        """The last part of the key, for people."""
        return self.key.rpartition(".")[2]

    @property
    def quality(self) -> float:
        """At the chosen rate; NaN without one."""
        return self.qualities[self.rates.index(self.chosen)] if self.chosen is not None else math.nan

    def at(self, rate: float) -> float:
        """The quality at any rate: linear in the logarithm of the rate between those tried, without extrapolation.

        Beside a rate that could not be trained, it is the quality of the nearest rate tried.
        """
        rate = min(max(rate, self.rates[0]), self.rates[-1])
        after = bisect_left(self.rates, rate)
        if self.rates[after] == rate:
            return self.qualities[after]
        low, high = self.qualities[after - 1], self.qualities[after]
        share = math.log(rate / self.rates[after - 1]) / math.log(self.rates[after] / self.rates[after - 1])
        if math.isnan(low + high):
            return low if share < 0.5 else high
        return low + share * (high - low)

    def better(self, left: float, right: float) -> bool:
        """Whether a quality is better than another. NaN, a training that failed, is the worst."""
        if math.isnan(left) or math.isnan(right):
            return math.isnan(right) and not math.isnan(left)
        return left < right if self.direction == "min" else left > right

    @property
    def window(self) -> tuple[float, float] | None:
        """The lowest and the highest rate around the chosen one whose quality is within 5 % of the best."""
        if self.chosen is None:
            return None
        limit, place = self._limit(), self.rates.index(self.chosen)
        return self._edge(place, -1, limit), self._edge(place, 1, limit)

    @property
    def decades(self) -> float | None:
        """The width of the window."""
        return math.log10(self.window[1] / self.window[0]) if self.window is not None else None

    @property
    def open_window(self) -> bool:
        """Whether the window reaches the lowest or the highest rate tried, so that it may be wider than is known."""
        return self.window is not None and (self.window[0] == self.rates[0] or self.window[1] == self.rates[-1])

    def _limit(self) -> float:
        """The worst quality inside the window."""
        if self.direction == "min":
            return self.quality + WINDOW * abs(self.quality)
        score = all(0 <= quality <= 1 for quality in self.qualities if not math.isnan(quality))
        return self.quality - (max(WINDOW * (1 - self.quality), SCORE_FLOOR) if score else WINDOW * abs(self.quality))

    def _edge(self, place: int, step: int, limit: float) -> float:
        """Where the quality crosses the limit, from the chosen rate in one direction."""
        inside = lambda quality: not math.isnan(quality) and not self.better(limit, quality)  # noqa: E731
        while 0 <= place + step < len(self.rates) and inside(self.qualities[place + step]):
            place += step
        if not 0 <= place + step < len(self.rates) or math.isnan(self.qualities[place + step]):
            return self.rates[place]
        here, there = self.qualities[place], self.qualities[place + step]
        share = (limit - here) / (there - here)
        return self.rates[place] * (self.rates[place + step] / self.rates[place]) ** share


def curves(
    trials: Sequence[ComparedRun], judged: str, direction: str, sweeps: Mapping[Path, SweepRecord]
) -> dict[str, Curve]:
    """The curve of every arm that was tuned, by the arm's name; with the study's, where two studies have such an arm.

    judged, direction: the metric of the tuning, where the study's sweep.json does not name it
    sweeps: the records of studies, by their folders
    """
    found = []
    for (folder, arm), runs in grouped(trials, lambda run: (run.folder.resolve().parent, run.arm)).items():
        plan = Tuning.recorded(runs[0].record.tuning)
        space = _space(plan)
        if plan is not None and space is not None:
            sweep = sweeps.get(folder)
            known = sweep is not None and sweep.direction in ("min", "max")
            metric = (sweep.judged, sweep.direction) if sweep is not None and known else (judged, direction)
            found.append(_curve(folder, arm, runs, plan, space, *metric))
    names = [curve.arm for curve in found]
    return {curve.arm if names.count(curve.arm) == 1 else f"{curve.folder.name}: {curve.arm}": curve for curve in found}


def untuned_arms(arms: Sequence[Arm], found: Iterable[Curve]) -> dict[str, str]:
    """Why arms are not tuned, by their names: from their curves, or as their final runs have recorded it."""
    known = {(curve.folder, curve.arm): curve.untuned for curve in found}
    reasons = {}
    for arm in arms:
        finals = [run for run in arm.runs if run.record.phase != "tuning"]  # trials may be compared with each other
        for run in finals:
            place = run.folder.resolve().parent, str(run.record.arm)
            reason = known.get(place, run.record.untuned)
            if isinstance(reason, str) and reason:
                reasons[arm.name] = reason
    return reasons


def tuning_notes(tasks: Sequence[Sequence[Arm]], found: Mapping[str, Curve], untuned: Mapping[str, str]) -> list[str]:
    """What a reader has to know of the tuning, in sentences."""
    notes = []
    flipping = flips(found, tasks)
    for arms in tasks:
        for place, arm in enumerate(arms):
            if arm.name in untuned and place == 0 and len(arms) > 1:
                reason = untuned[arm.name]
                notes.append(f"{arm.name} ranks first, but is not tuned: {reason}. Tuned, it could only gain.")
            elif arm.name in untuned:
                notes.append(f"{arm.name} is not tuned: {untuned[arm.name]}. It gets no verdict.")
        notes += [flipping[arm.name] for arm in arms[:1] if arm.name in flipping]
    for steps in dict.fromkeys(curve.steps for curve in found.values() if curve.steps is not None):
        length = f"{steps:g} of the final runs' steps" if steps < 1 else f"{steps:,} steps"
        notes.append(f"The arms were tuned with {length}, so the rates that were chosen are an approximation.")
    return notes


def flips(found: Mapping[str, Curve], tasks: Sequence[Sequence[Arm]]) -> dict[str, str]:
    """By name, a sentence on every arm that would fall behind others of its task at half or double its rate, the best
    arm first."""
    place = {arm.name: number for number, arms in enumerate(tasks) for arm in arms} if len(tasks) > 1 else {}
    ranked = [(name, curve) for name, curve in found.items() if curve.chosen is not None]
    ranked.sort(key=lambda each: each[1].quality * (1 if each[1].direction == "min" else -1))
    sentences = {}
    for rank, (name, curve) in enumerate(ranked):
        rivals = [each for each in ranked[rank + 1 :] if place.get(each[0]) == place.get(name)]
        behind = [(other, its) for other, its in rivals if its.metric == curve.metric]
        parts: list[str] = []
        for factor, word in FACTORS.items():
            there = curve.at(factor * (curve.chosen or math.nan))
            ahead = [other for other, its in behind if curve.better(its.quality, there)]
            if ahead:
                parts.append(f"{word} its {curve.name}, {name} would be behind {these(ahead)}")
        if parts:
            sentences[name] = f"At {'; at '.join(parts)} (by the tuning runs)."
    return sentences


def as_data(name: str, curve: Curve) -> dict[str, Any]:
    """A curve as plain data."""
    return {"arm": name, **{key: plain(getattr(curve, key)) for key in SHOWN}}


def _curve(
    folder: Path, arm: str, runs: Sequence[ComparedRun], plan: Tuning, space: Space, metric: str, direction: str
) -> Curve:
    at_point = grouped(runs, lambda run: _identity(run.record.parameters))
    sign = 1 if direction == "min" else -1

    def cost(_: int, point: Point) -> float | None:
        known = {run.seed: run for run in at_point.get(_identity(point), []) if run.record.status in ENDED}
        values = [_judged(known[seed], metric) if seed in known else None for seed in plan.seeds]
        return point_cost(values, direction)

    searched = search(space, plan.trials, cost)
    keys = list(space)
    along = next(key for key, values in space.items() if _logarithmic(values))
    later = keys[keys.index(along) + 1 :]
    costs = {
        point[along]: found
        for number, point in enumerate(searched.points)
        if along in point and not any(key in point for key in later) and (found := cost(number, point)) is not None
    }
    rates = sorted(costs)
    chosen = searched.best.get(along) if searched.best is not None else None
    return Curve(
        arm=arm, folder=folder, key=along, metric=metric, direction=direction, rates=tuple(rates),
        qualities=tuple(math.nan if costs[rate] == math.inf else sign * costs[rate] for rate in rates),
        chosen=chosen if chosen in costs else None,
        untuned=searched.untuned if searched.complete else "its tuning was not finished",
        points=len(searched.points), trials=len(runs), seconds=sum(run.seconds or 0.0 for run in runs),
        steps=plan.steps,
    )  # fmt: skip


def _space(plan: Tuning | None) -> Space | None:
    """The space of a tuning; None if it has no logarithmic range, along which there is a curve."""
    try:
        space = plan.ranges if plan is not None else {}
    except UserError:  # a run.json that somebody has edited
        return None
    if plan is None or not any(map(_logarithmic, space.values())) or plan.trials < fewest(space):
        return None
    return space


def _logarithmic(values: object) -> bool:
    return isinstance(values, Interval) and values.log and not values.whole


def _judged(run: ComparedRun, metric: str) -> float:
    if run.record.status == "failed":
        return math.nan
    return run.result.get(metric, run.result.get(metric.removeprefix(VALID), math.nan))


def _identity(point: Mapping[str, Any]) -> str:
    return json.dumps(point, sort_keys=True, default=str)
