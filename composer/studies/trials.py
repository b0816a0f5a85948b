"""The runs of a study: tuning, with the same points and seeds for every arm, then the final runs with other seeds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Literal

from composer.graph.describe import human
from composer.metrics import JUDGE
from composer.studies.budget import Solved
from composer.studies.search_space import Point, written
from composer.studies.wording import count


@dataclass(frozen=True)
class Trial:
    """One run of a study.

    number: unique within the study, in the order in which the runs are started
    name: for the run's folder
    overrides: all that `python train.py` needs to repeat the run
    parameters: the values that were tuned, by the key of the override
    """

    number: int
    name: str
    arm: str
    phase: Literal["tuning", "final"]
    seed: int
    overrides: tuple[str, ...]
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class PlannedArm:
    """
    overrides: those of the whole study and of the arm
    final, tuning: further overrides of the final runs and of the tuning runs: what meets the budget, shorter training
    solved: how the arm meets the budget; None for a study without one
    """

    name: str
    overrides: tuple[str, ...]
    final: tuple[str, ...]
    tuning: tuple[str, ...]
    solved: Solved | None


@dataclass(frozen=True)
class StudyPlan:
    """All runs of a study, known before the first one starts, except for the outcome of the tuning.

    seeds: of the final runs
    tuning_seeds: every point is tried with each of these
    points: that every arm is tuned at; empty for a study without tuning
    judge: the metric that judges the runs of all arms; the loss where they are judged by different ones
    """

    arms: tuple[PlannedArm, ...]
    seeds: tuple[int, ...]
    tuning_seeds: tuple[int, ...]
    points: tuple[Point, ...]
    judge: str = JUDGE

    def tuning_trials(self, arm: str) -> list[Trial]:
        """A run for every point and tuning seed, the same ones for every arm."""
        place, planned = self._find(arm)
        first = place * len(self.points) * len(self.tuning_seeds)
        pairs = [(point, seed) for point in self.points for seed in self.tuning_seeds]
        return [
            self._trial(first + i, planned, "tuning", seed, planned.tuning, point)
            for i, (point, seed) in enumerate(pairs)
        ]

    def best(self, judged: Mapping[int, float], direction: str = "min") -> dict[str, Point]:
        """The best point of every arm, by the mean of its judged metric over the tuning seeds.

        judged: the metric of every tuning trial that finished, by the trial's number. A point with a trial that did
            not finish or gave NaN is not chosen. An arm that is left without a point is left out
        """
        chosen: dict[str, Point] = {}
        for arm in self.arms:
            found: dict[int, list[float]] = {}
            for i, trial in enumerate(self.tuning_trials(arm.name)):
                found.setdefault(i // len(self.tuning_seeds), []).append(judged.get(trial.number, math.nan))
            means = {point: fmean(values) for point, values in found.items() if not any(map(math.isnan, values))}
            if means:
                pick = min if direction == "min" else max
                chosen[arm.name] = self.points[pick(means, key=lambda point: means[point])]
        return chosen

    def final_trials(self, best: Mapping[str, Mapping[str, Any]] | None = None) -> list[Trial]:
        """A run for every arm and seed, at the best point of the arm.

        All arms of a seed come before the next seed, so that a study that is cut short still compares all arms.

        best: the best point of every arm, from ``best``; an arm that is not in it has no final run. Only a study
            without tuning does without it
        """
        assert best is not None or not self.points, "a tuned study needs its best points"
        first = len(self.arms) * len(self.points) * len(self.tuning_seeds)
        numbered = enumerate(((seed, arm) for seed in self.seeds for arm in self.arms), first)
        return [
            self._trial(number, arm, "final", seed, arm.final, best[arm.name] if best is not None else {})
            for number, (seed, arm) in numbered
            if best is None or arm.name in best
        ]

    def facts(self) -> dict[str, Any]:
        """The plan as plain data, from which ``from_facts`` restores it after an interruption."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> StudyPlan:
        arms = (
            PlannedArm(
                arm["name"], tuple(arm["overrides"]), tuple(arm["final"]), tuple(arm["tuning"]),
                Solved.from_facts(arm["solved"]) if arm["solved"] else None,
            )
            for arm in facts["arms"]
        )  # fmt: skip
        seeds, tuning_seeds, points = (tuple(facts[key]) for key in ("seeds", "tuning_seeds", "points"))
        return cls(tuple(arms), seeds, tuning_seeds, points, facts.get("judge", JUDGE))

    def table(self) -> str:
        """The arms and how each of them meets the budget, then the number of runs."""
        solved = [(arm, arm.solved) for arm in self.arms if arm.solved is not None]
        rows = [("arm", *(("set to", solved[0][1].unit, "residual", "") if solved else ()))]
        for arm, found in solved:
            setting = " ".join(f"{key}={value}" for key, value in (found.setting, *found.following))
            rows.append((arm.name, setting, human(found.reached), f"{found.residual:+.1%}", found.note))
        rows += [(arm.name,) for arm in self.arms if arm.solved is None]
        tuning = len(self.points) * len(self.tuning_seeds)
        total = len(self.arms) * (tuning + len(self.seeds))
        runs = f"{count(tuning, 'tuning run')} + {count(len(self.seeds), 'final run')}"
        whole = f"{count(len(self.arms), 'arm')} x ({runs}) = {count(total, 'run')}"
        return "\n".join([*_aligned(rows), "", whole])

    def _find(self, arm: str) -> tuple[int, PlannedArm]:
        return next((place, planned) for place, planned in enumerate(self.arms) if planned.name == arm)

    def _trial(
        self,
        number: int,
        arm: PlannedArm,
        phase: Literal["tuning", "final"],
        seed: int,
        settings: Sequence[str],
        parameters: Mapping[str, Any],
    ) -> Trial:
        figures = ("training.figures=false",) if phase == "tuning" else ()  # nobody looks at those of tuning runs
        own = (*written(parameters), *figures, f"seed={seed}", f"arm={arm.name}")
        shown = [f"{key.rpartition('.')[2]}={value}" for key, value in parameters.items()] if phase == "tuning" else []
        if phase == "final" or len(self.tuning_seeds) > 1:
            shown.append(f"seed={seed}")
        name = ",".join([arm.name, *shown])
        return Trial(number, name, arm.name, phase, seed, (*arm.overrides, *settings, *own), dict(parameters))


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows if len(row) > i) for i in range(max(map(len, rows)))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip() for row in rows]
