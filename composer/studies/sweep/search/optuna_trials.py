"""A search: every trial is drawn by Optuna from the results of those before it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer.config.composition import folder_name
from composer.core.problems import UserError
from composer.runs.folder import read_metrics
from composer.runs.lock import folder_lock
from composer.runs.sweep_folder import SweepFolder
from composer.studies.planning.trial import DONE, Trial
from composer.studies.sweep.search.optuna_study import (
    NAME,
    damaged,
    distributions,
    make_pruner,
    make_sampler,
    open_study,
    optuna,
    study_file,
)
from composer.studies.sweep.search.search_settings import SearchPlan
from composer.studies.sweep.trials import ReadRecord
from composer.studies.tuning.search_space import rounded, written

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

#: The metric of a trial by training step.
Reports = dict[int, float]

#: The attributes of a trial in which the CMA-ES sampler keeps its state.
CMA = "cma:"


class Search:
    """The trials of an Optuna study that several processes may work on.

    A trial of the study is written in one transaction: killed at any instant, the trial is there with all its values or
    not at all. What became of it is read from its run folder.
    """

    at_most = False

    def __init__(self, folder: SweepFolder, plan: SearchPlan) -> None:
        self.plan, self.total, self.batch = plan, plan.settings.trials, plan.settings.batch
        self.space = distributions(plan.space())
        self.study = open_study(folder, plan)
        with folder_lock(folder.path, wait=True):
            self.recorded = dict(recorded(folder, plan.metric, self.space))
            self.compare(study_file(folder, plan))
            while (known := len(self.study.get_trials(deepcopy=False))) in self.recorded and known < self.total:
                self.draw()  # the study was lost or moved away

    def compare(self, file: Path) -> None:
        """Raise an error if the study has other values for a trial than the trial's folder."""
        for known in self.study.get_trials(deepcopy=False):
            values, _ = self.recorded.get(known.number, (known.params, {}))
            if values != known.params:
                raise damaged(file, f"it has other values for trial {known.number} than the folder of the trial")

    def ready(self, read: ReadRecord) -> Iterator[Trial]:
        self.report_results(read)
        trials = self.study.get_trials(deepcopy=False)
        yield from (self.trial(known) for known in trials if not known.state.is_finished())
        if len(trials) < self.total:
            yield self.draw()

    def report_results(self, read: ReadRecord) -> None:
        """Tell the study the results of trials that have come to their end since the last time."""
        for known in self.study.get_trials(deepcopy=False):
            if known.state.is_finished():
                continue
            record, states = read(self.trial(known)), optuna().trial.TrialState
            value = record.judged(self.plan.metric)
            if record.status == "pruned":
                self.study.tell(known.number, state=states.PRUNED)  # its value is the last one that it reported
            elif record.status in DONE and math.isnan(value):
                self.study.tell(known.number, state=states.FAIL)
            elif record.status in DONE:
                self.study.tell(known.number, value)

    def draw(self) -> Trial:
        """A new trial of the study: the one that a lost study had, as its folder has recorded it, or another one."""
        states, known = optuna().trial.TrialState, self.study.get_trials(deepcopy=True)
        values, reported = self.recorded.get(len(known), ({}, {}))
        attributes: dict[str, Any] = {}
        if not values:
            values, attributes = self.sample(known)
        self.study.add_trial(
            optuna().trial.create_trial(
                state=states.RUNNING, params=values, distributions=self.space, system_attrs=attributes,
                intermediate_values=reported,
            )
        )  # fmt: skip
        return self.trial(self.study.get_trials(deepcopy=False)[-1])

    def sample(self, known: Sequence[FrozenTrial]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The values of the next trial, and what the sampler keeps with them."""
        memory = optuna().create_study(
            study_name=NAME, direction=self.study.direction, sampler=make_sampler(self.plan, len(known)),
            pruner=make_pruner(self.plan),
        )  # fmt: skip
        memory.add_trials(known)
        memory.ask(self.space)
        drawn = memory.get_trials()[-1]
        # The trial is trained with rounded numbers.
        values = {key: rounded(value) if isinstance(value, float) else value for key, value in drawn.params.items()}
        return values, {key: value for key, value in drawn.system_attrs.items() if key.startswith(CMA)}

    def trial(self, known: FrozenTrial) -> Trial:
        chosen = written(known.params)
        return Trial(
            known.number, folder_name(known.number, chosen), (*self.plan.fixed, *chosen), dict(known.params), "tuning"
        )


def recorded(
    folder: SweepFolder, metric: str, space: Mapping[str, Any]
) -> Iterator[tuple[int, tuple[dict[str, Any], Reports]]]:
    """By the number of a trial that was begun: its values, and the metric at every validation."""
    for run in folder.runs():
        try:
            trial = run.read_record().trial
        except UserError:  # torn: the loop sets the file aside, and the trial is planned again
            continue
        values = trial.get("parameters") or {}
        if type(trial.get("number")) is int and values.keys() == space.keys():
            lines = (line for line in read_metrics(run.metrics) if metric in line)
            reports = {line["step"]: math.nan if line[metric] is None else float(line[metric]) for line in lines}
            yield trial["number"], (values, reports)
