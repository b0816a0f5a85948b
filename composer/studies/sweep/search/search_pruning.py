"""What a trial of a search reports after every validation, and whether the search ends the trial early."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from composer.core.problems import UserError, listed
from composer.runs.folder import RunFolder
from composer.runs.sweep_folder import SweepFolder
from composer.studies.sweep.search.search_settings import SearchPlan

if TYPE_CHECKING:
    from composer.training.callbacks.pruning import Prune

#: The variable that tells the processes of a trial on several devices which trial they train.
TRIAL = "SEQUENCE_COMPOSER_TRIAL"


def pruning_of_this_process() -> Prune | None:
    folder = os.environ.get(TRIAL)
    return pruning_of(Path(folder)) if folder is not None else None


def pruning_of(folder: Path) -> Prune | None:
    """The function that ends the trial in this folder early; None unless it belongs to a search."""
    sweep = SweepFolder(folder.parent)
    if not sweep.record_file.is_file() or (search := sweep.read_record().search) is None:
        return None
    plan, number = SearchPlan.from_facts(search), RunFolder(folder).read_record().trial["number"]

    def prune(step: int, values: Mapping[str, float]) -> bool:
        from composer.studies.sweep.search.optuna_study import open_study, optuna

        name = plan.metric.removeprefix("valid/")
        if name not in values:
            raise UserError(f"search.metric={plan.metric}: validation measures {listed(values)}.")
        study = open_study(sweep, plan)
        known = study.get_trials(deepcopy=False)[number]
        if known.last_step is not None and step < known.last_step:
            return False  # the trial was killed after a later report, so this one was answered before
        trial = optuna().trial.Trial(study, known._trial_id)
        if step != known.last_step:
            trial.report(values[name], step)
        return trial.should_prune()

    return prune
