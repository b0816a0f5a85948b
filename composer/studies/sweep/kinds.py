"""The kinds of sweeps: what sweep.json keeps of a grid, a search and a study, and their trials.

A new sweep is checked as a whole before its folder is made. A sweep that goes on is read from sweep.json alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hydra.core.config_loader import ConfigLoader
from omegaconf import DictConfig

from composer.config.composition import Composed, recompose
from composer.core.problems import ConfigError, Problem, UserError
from composer.runs.sweep_folder import SweepFolder
from composer.studies.sweep.trials import Grid, StudyTrials, Trials
from composer.studies.tuning.search_space import written

if TYPE_CHECKING:
    from composer.studies.sweep.value_checks import ValueRefused


def plan_sweep(config: DictConfig, loader: ConfigLoader, arguments: Sequence[str]) -> dict[str, Any]:
    """The fields of ``SweepRecord`` that say what a new sweep of these arguments runs."""
    chosen = [kind for kind in ("search", "study") if kind in config]
    if len(chosen) > 1:
        raise UserError("command line: search and study\n  a study has a tuning of its own. Leave search out.")
    kind = chosen[0] if chosen else "grid"
    plan: Callable[..., dict[str, Any]] = {"grid": _plan_grid, "search": _plan_search, "study": _plan_study}[kind]
    return {"kind": kind, "arguments": list(arguments), **plan(loader, arguments)}


def _judged(name: str) -> dict[str, str]:
    """The metric by which the runs choose their best checkpoints, and whether a lower or a higher value is better."""
    from composer.metrics import direction

    return {"judged": f"valid/{name}", "direction": direction(name)}


def load_trials(folder: SweepFolder, loader: ConfigLoader) -> Trials:
    """The trials of a sweep, new or begun before."""
    record = folder.read_record()
    if record.search is not None:
        from composer.studies.sweep.search.optuna_trials import Search
        from composer.studies.sweep.search.search_settings import SearchPlan

        return Search(folder, SearchPlan.from_facts(record.search))
    if record.study is not None:
        from composer.studies.planning.study_plan import StudyPlan

        return StudyTrials(StudyPlan.from_facts(record.study), record.judged, record.direction)
    return Grid(record.arguments, loader)


def _plan_grid(loader: ConfigLoader, arguments: Sequence[str]) -> dict[str, Any]:
    from composer.studies.sweep.value_checks import check_values

    trials = Grid(arguments, loader).trials
    plan = check_values(((trial.parameters, trial.overrides) for trial in trials), recompose)
    assert plan is not None  # a grid has a trial
    return _judged(str(plan.training.monitor))


def _plan_search(loader: ConfigLoader, arguments: Sequence[str]) -> dict[str, Any]:
    from composer.studies.sweep.search.optuna_study import optuna
    from composer.studies.sweep.search.search_settings import plan_search, split_arguments
    from composer.studies.sweep.value_checks import ValueRefused, check_values, corners

    optuna()  # an error if it is not installed
    fixed, ranges = split_arguments(arguments, loader)
    composed = recompose(fixed)
    plan = plan_search(composed, ranges)
    points = corners(plan.space())
    try:
        check_values(((point, (*plan.fixed, *written(point))) for point in points), recompose)
    except ValueRefused as error:
        if error.key in ranges:
            raise
        raise _at("search.space", error, composed) from error
    return {"search": plan.facts(), "judged": plan.metric, "direction": plan.direction}


def _plan_study(loader: ConfigLoader, arguments: Sequence[str]) -> dict[str, Any]:
    from composer.studies.planning.study import plan_study
    from composer.studies.sweep.value_checks import ValueRefused, check_values

    composed = recompose(arguments)
    plan = plan_study(composed.values, arguments, composed.locate)
    tuning = (trial for arm in plan.arms for trial in plan.first_trials(arm.name))
    try:
        check_values(((trial.parameters, trial.overrides) for trial in tuning), recompose)
    except ValueRefused as error:
        raise _at("study.tuning.space", error, composed) from error
    print(f"{plan.table()}\n", flush=True)
    return {"study": plan.facts(), **_judged(plan.monitor)}


def _at(section: str, error: ValueRefused, composed: Composed) -> ConfigError:
    """The error of a value that a YAML file has in one of its sections."""
    message = f"{error.key}={error.value}: {' '.join(str(error).split())}"
    return ConfigError([Problem(f"{section}.{error.key}", message)], composed.locate)
