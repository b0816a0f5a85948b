"""The trials of a sweep: which of them can start, given what is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Protocol

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser

from composer.config.composition import folder_name
from composer.core.problems import UserError
from composer.runs.record import RunRecord
from composer.studies.planning.trial import DONE, Trial

if TYPE_CHECKING:
    from composer.studies.planning.study_plan import StudyPlan
    from composer.studies.tuning.tuning_rule import Searched

#: Reads the record (run.json) of a trial: empty if it was never started.
ReadRecord = Callable[[Trial], RunRecord]


class Trials(Protocol):
    """What a sweep runs: a grid, a search, a study.

    total: the number of trials of the whole sweep
    at_most: whether there may be fewer, as results decide
    batch: how many trials a launcher gets at once that returns when all have ended; None for all that are ready
    """

    total: int
    at_most: bool

    @property
    def batch(self) -> int | None: ...

    def ready(self, read: ReadRecord) -> Iterator[Trial]:
        """The trials that are not done and whose turn has come, also those that a process trains at the moment.

        The caller takes the first one that nobody trains, and asks anew before it takes another. The sweep is over
        when there is none.
        """
        ...


class Grid:
    """Every combination of the values in the command line's overrides, in the order of Hydra's basic sweeper."""

    batch = None
    at_most = False

    def __init__(self, arguments: Sequence[str], loader: ConfigLoader) -> None:
        choices = parse(arguments, loader)
        self.trials = []
        for number, values in enumerate(product(*choices.values())):
            overrides = {key: f"{key}={value}" for key, value in zip(choices, values, strict=True)}
            varied = {key: value for key, value in zip(choices, values, strict=True) if len(choices[key]) > 1}
            name = folder_name(number, [overrides[key] for key in varied])
            self.trials.append(Trial(number, name, tuple(overrides.values()), varied))
        self.total = len(self.trials)

    def ready(self, read: ReadRecord) -> Iterator[Trial]:
        yield from (trial for trial in self.trials if read(trial).status not in DONE)


class StudyTrials:
    """The tuning of every arm, then the final runs with the best values that were found.

    Which points an arm is tried at follows from the results in the trials' run.json files alone, so a study goes on in
    the same way after an interruption, and when several processes work on it.

    judged, direction: the metric by which the best values of an arm are chosen
    """

    batch = None

    def __init__(self, plan: StudyPlan, judged: str, direction: str) -> None:
        self.plan, self.judged, self.direction = plan, judged, direction
        self.total, self.at_most = plan.total, plan.tuning is not None

    def ready(self, read: ReadRecord) -> Iterator[Trial]:
        """The final runs of an arm follow its own tuning, while other arms may still be tuned."""

        def judged(trial: Trial) -> float | None:
            record = read(trial)
            return record.judged(self.judged) if record.status in DONE else None

        tuned: dict[str, Searched] = {}
        for arm in self.plan.arms:
            trials, found = self.plan.tune(arm.name, judged, self.direction)
            yield from (trial for trial in trials if judged(trial) is None)
            if found.complete:
                tuned[arm.name] = found
        yield from (trial for trial in self.plan.final_trials(tuned) if judged(trial) is None)


def parse(arguments: Sequence[str], loader: ConfigLoader | None) -> dict[str, list[str]]:
    """The values of every override, by its key: one value for those that all trials share."""
    values: dict[str, list[str]] = {}
    for override in OverridesParser.create(config_loader=loader).parse_overrides(list(arguments)):
        if override.is_discrete_sweep():
            texts = list(override.sweep_string_iterator())
        elif override.is_sweep_override():
            raise UserError(
                f"command line: {override.input_line}\n  is a range, from which a search draws values: add search=tpe. "
                "A grid takes the values themselves, separated by commas."
            )
        else:
            texts = [override.get_value_element_as_str()]
        values[override.get_key_element()] = texts
    return values
