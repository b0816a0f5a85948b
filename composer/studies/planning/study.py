"""A study: arms that get the same budget, the same tuning and the same seeds. ``conf/study/`` has the YAML files.

``plan_study`` checks the whole study before anything runs: every key of the section ``study``, and every arm as a run
of its own. Each problem is reported at the file and line of the study where it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from composer.config.composition import Composed, recompose
from composer.core.binding import bind_section
from composer.core.problems import ConfigError, Locate, Problem, Report, UserError
from composer.metrics import LOSS
from composer.studies.planning.budget import (
    BY_WIDTH,
    STEPS,
    Solved,
    default_size,
    solve_steps,
    solve_width,
    training_size,
)
from composer.studies.planning.ladder import Rung, rungs
from composer.studies.planning.scalable_arm import Objectives, ScalableArm, number_at, solved_keys
from composer.studies.planning.study_checks import (
    check_arms,
    check_budget,
    check_ladder,
    check_seeds,
    check_user_overrides,
    sets,
)
from composer.studies.planning.study_plan import PlannedArm, StudyPlan
from composer.studies.planning.study_settings import Study
from composer.studies.tuning.search_space import Point, rounded, written
from composer.training.run.plan import TrainingPlan, prepare

__all__ = ["StudyPlan", "plan_study"]

#: The first width that is tried where the study's config has none at the key of the width.
START = 64


def plan_study(
    values: Mapping[str, Any],
    overrides: Sequence[str],
    locate: Locate,
    *,
    compose: Callable[[Sequence[str]], Composed] = recompose,
) -> StudyPlan:
    """All runs of a study. A ConfigError lists every problem of the study and of its arms; nothing has run then.

    values, locate: the config with the section ``study``, and the places of its values
    overrides: of the command line, ``study=...`` among them; those that concern a run apply to all runs
    """
    study = bind_section("study", Study, values.get("study"), "study", locate)()
    report = Report()
    kept = check_user_overrides(overrides, study.arms, report)
    check_arms(study.arms, report)
    check_seeds(study, report)
    check_budget(study, kept, report)
    check_ladder(study, kept, report)
    point = study.tuning.check(report) if study.tuning is not None else {}
    if report.problems:
        raise ConfigError(report.problems, locate)
    planner = _Planner(study, kept, point, compose, report)
    start = number_at(study.budget.keys[0], values) if study.budget is not None else None
    arms = planner.plan(start or START)
    if report.problems:
        raise ConfigError(report.problems, locate)
    monitor = planner.monitors.pop() if len(planner.monitors) == 1 else LOSS
    return StudyPlan(tuple(arms), tuple(study.seeds), study.tuning, monitor)


class _SpaceError(UserError):
    """An override that tuning would vary is wrong."""


@dataclass
class _Planner:
    """Composes, compiles and checks the arms of a study, and solves their widths or steps.

    point: a point of the tuning's space; every arm is checked with it, so that its keys are checked, too
    monitors: the metrics that judge the planned arms
    """

    study: Study
    kept: Sequence[str]
    point: Point
    compose: Callable[[Sequence[str]], Composed]
    report: Report
    objectives: Objectives = field(default_factory=Objectives)
    monitors: set[str] = field(default_factory=set)

    def plan(self, start: int) -> list[PlannedArm]:
        """The arms without a problem. start: the first width that is tried."""
        budget = self.study.budget
        target = budget.target if budget is not None else None
        if budget is not None and budget.of is not None:
            try:
                reference = self.checked(self.composed(budget.of))
                target = default_size(budget.kind, reference, budget.count)
                start = number_at(budget.keys[0], reference.composed.values) or start
            except UserError as error:
                self.blame(budget.of, error)
                return []
        arms = []
        for name in self.study.arms:
            try:
                for rung in rungs(name, self.study.ladder, target):
                    arms.append(self.arm(name, rung, start))
            except UserError as error:
                self.blame(name, error)
        return arms

    def arm(self, name: str, rung: Rung, start: int) -> PlannedArm:
        budget, solved, target = self.study.budget, None, rung.target
        if budget is None or target is None:
            plan = self.checked(self.composed(name))
        elif budget.kind in BY_WIDTH:
            keys = {budget.keys[0]: start}
            if budget.keys != list(keys) or "*" in budget.keys[0]:
                keys = solved_keys(budget.keys, self.composed(name).values)
                key, start = next(iter(keys.items()))
                if len(keys) == 1 and name != budget.of and sets(self.study.arms[name], key):
                    raise UserError(f"{key} has no effect here: the study's budget decides it.")
            arm = ScalableArm(lambda own: self.composed(name, *rung.overrides, *own), keys, self.objectives)
            solved = solve_width(arm, budget.kind, target, start, budget.count)
            plan = self.checked(self.composed(name, *rung.overrides, *solved.settings))
        else:
            plan = self.checked(self.composed(name))
            if budget.kind == "seconds" and plan.hardware.strategy != "single":
                raise UserError("seconds can be measured on one device only. Take the budget train_flops.")
            solved = solve_steps(budget.kind, target, training_size(budget.kind, plan))
        return self.planned(name, rung, plan, solved)

    def planned(self, name: str, rung: Rung, plan: TrainingPlan, solved: Solved | None) -> PlannedArm:
        self.monitors.add(plan.training.monitor or LOSS)
        final = solved.overrides if solved is not None else ()
        shorter = _shorter(self.study.tuning.steps if self.study.tuning is not None else None, plan, solved)
        tuning = (*final, *shorter) if solved is None or solved.kind in BY_WIDTH or not shorter else shorter
        return PlannedArm(rung.name, (*self.kept, *self.study.arms[name], *rung.overrides), final, tuning, solved)

    def composed(self, name: str, *more: str) -> Composed:
        plain = [*self.kept, *self.study.arms[name], *more, f"arm={name}"]
        try:
            return self.compose([*plain, *written(self.point)])
        except UserError as error:
            self.compose(plain)  # raises where the arm itself is at fault
            raise _SpaceError(str(error)) from error

    def checked(self, composed: Composed) -> TrainingPlan:
        """The arm as a run, checked as a whole, over the data that it shares with other arms."""
        return prepare(composed, opened=self.objectives.of(composed))

    def blame(self, name: str, error: UserError) -> None:
        """Report an arm's error at the arm's place in the study, or an error of the space at the space's place."""
        path = "study.tuning.space" if isinstance(error, _SpaceError) else f"study.arms.{name}"
        if isinstance(error, ConfigError):
            self.report.extend([Problem(path, f"{found.path}: {found.message}") for found in error.problems])
        else:
            self.report.add(path, " ".join(str(error).split()))


def _shorter(steps: float | None, plan: TrainingPlan, solved: Solved | None) -> tuple[str, ...]:
    """The overrides of a tuning run that is shorter than the final run."""
    if steps is None:
        return ()
    training = plan.training
    by_steps = solved is not None and solved.kind not in BY_WIDTH
    if steps < 1 and training.epochs is not None and not by_steps:
        return (f"training.epochs={rounded(steps * training.epochs)}",)
    whole = solved.setting[1] if by_steps and solved is not None else training.steps
    number = round(steps) if steps >= 1 else max(1, round(steps * (whole or 1)))
    return (f"{STEPS}={number}", "training.epochs=null")
