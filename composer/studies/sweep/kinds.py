"""The kinds of sweeps: what sweep.json keeps of a grid, a search and a study, and their trials.

A new sweep is checked as a whole before its folder is made. A sweep that goes on is read from sweep.json alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hydra.core.config_loader import ConfigLoader
from omegaconf import DictConfig

from composer.config.composition import recompose
from composer.core.problems import UserError
from composer.studies.search_space import Choice, Point, Space, written
from composer.studies.sweep.results import JUDGED
from composer.studies.sweep.sweep_folder import SweepFolder
from composer.studies.sweep.trials import Grid, Trials


def plan_sweep(config: DictConfig, loader: ConfigLoader, arguments: Sequence[str]) -> dict[str, Any]:
    """The facts of a new sweep of these arguments, for sweep.json."""
    chosen = [kind for kind in ("search", "study") if kind in config]
    if len(chosen) > 1:
        raise UserError("command line: search and study\n  a study has a tuning of its own. Leave search out.")
    kind = chosen[0] if chosen else "grid"
    plan: Callable[..., dict[str, Any]] = {"grid": _plan_grid, "search": _plan_search, "study": _plan_study}[kind]
    facts = {"kind": kind, "arguments": list(arguments), "search": None, "study": None}
    return facts | plan(config, loader, arguments)


def _judged(name: str, plugins: Sequence[str] = ()) -> dict[str, str]:
    """The metric by which the runs choose their best checkpoints, and whether a lower or a higher value is better."""
    if f"valid/{name}" == JUDGED[0]:
        return dict(zip(("judged", "direction"), JUDGED, strict=True))
    from composer.core import registry
    from composer.metrics import direction

    registry.load(list(plugins))  # which may have registered the metric
    return {"judged": f"valid/{name}", "direction": direction(name)}


def load_trials(folder: SweepFolder, loader: ConfigLoader) -> Trials:
    """The trials of a sweep, new or begun before."""
    facts = folder.read()
    if facts["kind"] == "search":
        from composer.studies.sweep.search import Search
        from composer.studies.sweep.settings import SearchPlan

        return Search(folder, SearchPlan.from_facts(facts["search"]))
    if facts["kind"] == "study":
        from composer.studies.sweep.study_trials import StudyTrials
        from composer.studies.trials import StudyPlan

        return StudyTrials(StudyPlan.from_facts(facts["study"]), facts["judged"], facts["direction"])
    return Grid(facts["arguments"], loader)


def _plan_grid(config: DictConfig, loader: ConfigLoader, arguments: Sequence[str]) -> dict[str, Any]:
    grid = Grid(arguments, loader)
    for trial in grid.samples():
        loader.load_sweep_config(config, list(trial.overrides))  # Hydra's errors
    judge = config.training.get("judge")
    if judge is None:
        from composer.training.run.plan import check_config

        judge = check_config(recompose(grid.trials[0].overrides)).training.judge
    return _judged(str(judge), config.plugins)


def _plan_search(config: DictConfig, loader: ConfigLoader, arguments: Sequence[str]) -> dict[str, Any]:
    from composer.studies.sweep.optuna_study import optuna
    from composer.studies.sweep.settings import plan_search, split_arguments

    optuna()  # an error if it is not installed
    fixed, ranges = split_arguments(arguments, loader)
    plan = plan_search(recompose(fixed), ranges)
    for point in _samples(plan.space()):
        recompose([*plan.fixed, *written(point)])  # errors of a key, or of a choice
    return {"search": plan.facts(), "judged": plan.metric, "direction": plan.direction}


def _samples(space: Space) -> Iterator[Point]:
    """Points of a space in which every choice occurs."""
    choices = {key: values.values for key, values in space.items() if isinstance(values, Choice)}
    for i in range(max([1, *map(len, choices.values())])):
        yield {
            key: choices[key][i % len(choices[key])] if key in choices else values.at(0.5)
            for key, values in space.items()
        }


def _plan_study(config: DictConfig, loader: ConfigLoader, arguments: Sequence[str]) -> dict[str, Any]:
    from composer.studies.study import plan_study

    composed = recompose(arguments)
    plan = plan_study(composed.values, arguments, composed.locate)
    print(f"{plan.table()}\n", flush=True)
    return {"study": plan.facts(), **_judged(plan.judge, config.plugins)}
