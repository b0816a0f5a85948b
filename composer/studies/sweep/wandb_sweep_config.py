"""A sweep of W&B with the same search space: the YAML that ``wandb sweep`` registers and ``wandb agent`` runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from composer.config.composition import compose
from composer.core.problems import UserError
from composer.studies.sweep.search.search_settings import GOALS, SearchPlan, plan_search, split_arguments
from composer.studies.sweep.trials import parse
from composer.studies.tuning.search_space import Choice, Interval

#: W&B's method for each of Optuna's samplers: it has no evolution strategy, and its Bayesian search is the nearest.
METHODS = {"tpe": "bayes", "cmaes": "bayes", "random": "random"}

#: Values that stand for a logarithmic range of whole numbers.
SPREAD = 16


def wandb_sweep(arguments: Sequence[str], config_dir: str | Path | None = None) -> dict[str, Any]:
    """The sweep of a command line: a search if it chooses one, otherwise a grid."""
    fixed, ranges = split_arguments(arguments, None)
    if not any(text.startswith("logger=") for text in fixed):
        fixed.append("logger=wandb")
    composed = compose(fixed, config_dir)
    loggers = composed.values.get("logger") or {}
    if "wandb" not in loggers:
        raise UserError("command line: logger\n  W&B learns the results of its sweep from logger=wandb. Add it.")
    if grid := "search" not in composed.values:
        parse(arguments, None)  # an error for a range, which needs a search
        composed = compose([*fixed, "search=random"], config_dir)
    place = {key: loggers["wandb"][key] for key in ("project", "entity") if loggers["wandb"][key]}
    return _sweep(plan_search(composed, ranges), place, config_dir, grid=grid)


def _sweep(plan: SearchPlan, place: dict[str, Any], config_dir: str | Path | None, *, grid: bool) -> dict[str, Any]:
    """
    place: the project, and the entity that it belongs to, if the config names one
    """
    space, settings = plan.space(), plan.settings
    folder = [f"--config-dir={config_dir}"] if config_dir is not None else []
    sweep: dict[str, Any] = {
        **place,
        "program": "train.py",
        "method": "grid" if grid else METHODS[settings.sampler],
        "metric": {"name": plan.metric, "goal": GOALS[plan.direction]},
        "parameters": {key: _parameter(values) for key, values in space.items()},
        "command": ["${env}", "python", "${program}", *folder, *plan.fixed, "${args_no_hyphens}"],
    }
    if not grid:
        sweep["run_cap"] = settings.trials
        if settings.pruner == "hyperband":
            sweep["early_terminate"] = {"type": "hyperband", "min_iter": 1, "eta": 3}
    return sweep


def _parameter(values: Interval | Choice) -> dict[str, Any]:
    """A range in W&B's terms."""
    if isinstance(values, Choice):
        return {"values": list(values.values)}
    if not values.whole:
        kind = "log_uniform_values" if values.log else "uniform"
        return {"distribution": kind, "min": values.low, "max": values.high}
    if not values.log:
        return {"distribution": "int_uniform", "min": values.low, "max": values.high}
    return {"values": values.spread(SPREAD)}  # W&B's logarithmic distributions give real numbers
