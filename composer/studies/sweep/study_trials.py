"""The trials of a study: the tuning of every arm, then the final runs with the best values that were found.

Which points an arm is tried at follows from the results in the trials' run.json files alone, so a study goes on in the
same way after an interruption, and when several processes work on it.
"""

from __future__ import annotations

from collections.abc import Iterator

from composer.studies.planning.study_plan import StudyPlan
from composer.studies.planning.trial import DONE, Trial
from composer.studies.sweep.trials import ReadRecord
from composer.studies.tuning.tuning_rule import Searched


class StudyTrials:
    """
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
        for arm in self.plan.arms if self.plan.tuning is not None else ():
            trials, found = self.plan.tune(arm.name, judged, self.direction)
            yield from (trial for trial in trials if judged(trial) is None)
            if found.complete:
                tuned[arm.name] = found
        finals = self.plan.final_trials(tuned if self.plan.tuning is not None else None)
        yield from (trial for trial in finals if judged(trial) is None)
