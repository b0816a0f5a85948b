"""The trials of a study: the tuning of every arm, then the final runs with the best values that were found."""

from __future__ import annotations

from collections.abc import Iterator

from composer.config.composition import folder_name
from composer.studies.sweep.trial import DONE, Trial, judged_value
from composer.studies.sweep.trials import ReadFacts
from composer.studies.trials import StudyPlan
from composer.studies.trials import Trial as StudyTrial


class StudyTrials:
    """
    judged, direction: the metric by which the best values of an arm are chosen
    """

    batch = None

    def __init__(self, plan: StudyPlan, judged: str, direction: str) -> None:
        self.plan, self.judged, self.direction = plan, judged, direction
        self.tuning = {arm.name: [_trial(t) for t in plan.tuning_trials(arm.name)] for arm in plan.arms}
        self.total = sum(map(len, self.tuning.values())) + len(plan.arms) * len(plan.seeds)

    def ready(self, read: ReadFacts) -> Iterator[Trial]:
        """The final runs of an arm follow its own tuning, while other arms may still be tuned."""
        values: dict[int, float] = {}
        tuned = []
        for arm, trials in self.tuning.items():
            known = {trial.number: read(trial) for trial in trials}
            left = [trial for trial in trials if known[trial.number].get("status") not in DONE]
            yield from left
            if not left:
                tuned.append(arm)
                values |= {number: judged_value(facts, self.judged) for number, facts in known.items()}
        best = self.plan.best(values, self.direction) if self.plan.points else None
        chosen = {arm: point for arm, point in best.items() if arm in tuned} if best is not None else None
        for trial in map(_trial, self.plan.final_trials(chosen)):
            if read(trial).get("status") not in DONE:
                yield trial


def _trial(planned: StudyTrial) -> Trial:
    name = folder_name(planned.number, [planned.name])
    return Trial(planned.number, name, planned.overrides, dict(planned.parameters), planned.phase)
