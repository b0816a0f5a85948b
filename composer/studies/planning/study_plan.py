"""The runs of a study: tuning, by the same rule and with the same seeds for every arm, then the final runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Literal

from composer.config.composition import folder_name
from composer.core.problems import UserError
from composer.graph.describe import human
from composer.metrics import LOSS
from composer.studies.formatting import count
from composer.studies.planning.budget import BY_WIDTH, Solved
from composer.studies.planning.trial import Trial
from composer.studies.tuning.search_space import Point, Space, written
from composer.studies.tuning.tuning_rule import Searched, first_values, point_cost, search
from composer.studies.tuning.tuning_settings import Tuning
from composer.views.tables import Column, text_table

#: The judged metric of a trial: NaN if the trial failed, None if it has no result yet.
Judged = Callable[[Trial], float | None]


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
    """All runs of a study, except for the points that the results of the tuning decide.

    seeds: of the final runs
    tuning: None for a study without tuning
    monitor: the metric that judges the runs of all arms; the loss where theirs differ
    """

    arms: tuple[PlannedArm, ...]
    seeds: tuple[int, ...]
    tuning: Tuning | None
    monitor: str = LOSS

    @property
    def tuning_total(self) -> int:
        """The most tuning runs of an arm. So many numbers are kept for the runs of each."""
        return self.tuning.trials * len(self.tuning.seeds) if self.tuning is not None else 0

    @property
    def total(self) -> int:
        """The most runs of the whole study."""
        return len(self.arms) * (self.tuning_total + len(self.seeds))

    @property
    def space(self) -> Space:
        """What is tuned: nothing in a study without tuning."""
        return self.tuning.ranges if self.tuning is not None else {}

    def tune(self, arm: str, judged: Judged, direction: str = "min") -> tuple[list[Trial], Searched]:
        """The tuning of an arm as far as the results are known: the trials of its points, done or not.

        Without tuning, the arm is tuned with no trial at all.
        """

        def cost(number: int, point: Point) -> float | None:
            return point_cost([judged(trial) for trial in self._tried(arm, number, point)], direction)

        found = search(self.space, self.tuning.trials if self.tuning is not None else 0, cost)
        return [t for number, point in enumerate(found.points) for t in self._tried(arm, number, point)], found

    def first_trials(self, arm: str) -> list[Trial]:
        """Trials with every value that each key of the space begins with, to check before the study begins."""
        points = [{key: value} for key, values in self.space.items() for value in first_values(values)]
        return [trial for number, point in enumerate(points) for trial in self._tried(arm, number, point)[:1]]

    def final_trials(self, tuned: Mapping[str, Searched]) -> list[Trial]:
        """A run for every arm and seed, at the best point of the arm.

        All arms of a seed come before the next seed, so that a study that is cut short still compares all arms.

        tuned: the arms whose tuning is done; others, and those without a best point, have no final run
        """
        trials, first = [], len(self.arms) * self.tuning_total
        for number, (seed, arm) in enumerate(product(self.seeds, self.arms), first):
            own = tuned.get(arm.name)
            if own is not None and own.best is not None:
                about = {"untuned": own.untuned} if self.tuning is not None else {}
                trials.append(self._trial(number, arm, "final", seed, own.best, about))
        return trials

    def facts(self) -> dict[str, Any]:
        """The plan as plain data, from which ``from_facts`` restores it after an interruption."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> StudyPlan:
        if "points" in facts:
            raise UserError(
                "the study was begun by an older version, which tried other points in its tuning. Begin it anew, with "
                "another name: name=..."
            )
        arms = (
            PlannedArm(
                arm["name"], tuple(arm["overrides"]), tuple(arm["final"]), tuple(arm["tuning"]),
                Solved.from_facts(arm["solved"]) if arm["solved"] else None,
            )
            for arm in facts["arms"]
        )  # fmt: skip
        tuning = Tuning(**facts["tuning"]) if facts["tuning"] is not None else None
        return cls(tuple(arms), tuple(facts["seeds"]), tuning, facts.get("monitor", facts.get("judge", LOSS)))

    def table(self, width: int | None = None) -> str:
        """The arms and how each of them meets the budget, then the number of runs; as wide as the terminal."""
        solved = [(arm.name, arm.solved) for arm in self.arms if arm.solved is not None]
        heads: list[Column | str] = ["arm"]
        rows: list[tuple[str, ...]] = [(arm.name,) for arm in self.arms]
        if solved:
            heads += ["set to", Column(solved[0][1].unit, right=True), Column("residual", right=True), ""]
            rows = [
                (name, " ".join(found.settings), human(found.reached), f"{found.residual:+.1%}", found.note)
                for name, found in solved
            ]
        final, most = count(len(self.seeds), "final run"), "at most " * (self.tuning is not None)
        runs = f"({most}{count(self.tuning_total, 'tuning run')} + {final})" if self.tuning is not None else final
        whole = f"{count(len(self.arms), 'arm')} x {runs} = {most}{count(self.total, 'run')}"
        return f"{text_table(heads, rows, width=width)}\n\n{whole}"

    def _tried(self, arm: str, number: int, point: Point) -> list[Trial]:
        """The tuning runs of an arm at a point, one a seed. ``number``: of the point, in the order of the search."""
        assert self.tuning is not None, "a study without tuning"
        place, planned = next((place, each) for place, each in enumerate(self.arms) if each.name == arm)
        first, about = place * self.tuning_total + number * len(self.tuning.seeds), {"tuning": asdict(self.tuning)}
        return [
            self._trial(first + i, planned, "tuning", seed, point, about) for i, seed in enumerate(self.tuning.seeds)
        ]

    def _trial(
        self,
        number: int,
        arm: PlannedArm,
        phase: Literal["tuning", "final"],
        seed: int,
        parameters: Mapping[str, Any],
        about: Mapping[str, Any],
    ) -> Trial:
        settings, solved = arm.final if phase == "final" else arm.tuning, arm.solved
        # A tuning run of another length does not spend a budget of training, so that no budget is recorded with it.
        met = solved is not None and (solved.kind in BY_WIDTH or settings == arm.final)
        budget = {"budget": solved.record()} if solved is not None and met else {}
        figures = ("training.figures=false",) if phase == "tuning" else ()  # nobody looks at those of tuning runs
        own = (*written(parameters), *figures, f"seed={seed}", f"arm={arm.name}")
        shown = [f"{key.rpartition('.')[2]}={value}" for key, value in parameters.items()] if phase == "tuning" else []
        if phase == "final" or (self.tuning is not None and len(self.tuning.seeds) > 1):
            shown.append(f"seed={seed}")
        name = folder_name(number, [arm.name, *shown])
        overrides, known = (*arm.overrides, *settings, *own), {"arm": arm.name, "seed": seed, **budget, **about}
        return Trial(number, name, overrides, dict(parameters), phase, known)
