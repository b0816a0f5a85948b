"""Tasks: arms whose results can be compared, because they were tested on the same data.

A study may have several tasks, such as parity and modular arithmetic: a result on one says nothing of the other, so
arms are ranked and judged among those of their task. The sizes of a ladder are tasks, too: an arm of 6,400 parameters
is no rival of one with 88,000.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from composer.core.problems import UserError
from composer.metrics import possible
from composer.studies.findings.verdicts import NOT_TUNED, Verdict, diverged_in, ranked, verdicts_of
from composer.studies.formatting import common_decimals, with_interval
from composer.studies.planning.ladder import RUNG
from composer.studies.records.arms import Arm
from composer.studies.records.fairness import SAME, differing, flatten
from composer.training.run.record import TEST

#: The mean of the first arm, by the better direction.
RANK = {"min": "lowest", "max": "highest"}


@dataclass(frozen=True)
class Task:
    """
    name: what sets the task apart from the others, such as parity; empty where there is one task
    arms: best first
    verdicts: of every arm but the best, in the arms' order
    """

    name: str
    arms: tuple[Arm, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def best(self) -> Arm:
        return self.arms[0]

    @property
    def clear(self) -> bool:
        """Whether every other arm is worse than the best one beyond chance."""
        return bool(self.verdicts) and all(verdict.distinguishable for verdict in self.verdicts)

    @property
    def tie(self) -> bool:
        """Whether no arm is distinguishable from the best one."""
        return bool(self.verdicts) and all(verdict.distinguishable is False for verdict in self.verdicts)

    def ahead(self, metric: str, direction: str) -> dict[str, str]:
        """'best' for the best arm if all others are worse; else what is known of the arms with its mean: that it is
        the lowest or the highest."""
        if not self.verdicts or self.best.diverged:
            return {}
        if self.clear:
            return {self.best.name: "best"}
        mean = self.best.quality(metric).mean
        same = (arm for arm in self.arms if arm.quality(metric).mean == mean and not arm.diverged)
        return {arm.name: RANK[direction] for arm in same}

    def shown(self, metric: str) -> dict[str, str]:
        """The metric of every arm that has it, with its interval, in the same number of decimals for all of them."""
        found = {arm.name: arm.quality(metric) for arm in self.arms if arm.measured(metric)}
        decimals = common_decimals([*found.values()])
        values = possible(metric, [name for arm in self.arms for run in arm.runs for name in run.result])
        return {name: with_interval(each, decimals, values) for name, each in found.items()}


def judge_tasks(arms: Sequence[Arm], metric: str, direction: str, untuned: Mapping[str, str]) -> tuple[Task, ...]:
    """The tasks in the order of their arms, each ranked and judged for itself, with a correction for their number."""
    groups = by_task(arms, metric)
    judged = sum(len(group) > 1 for group in groups)
    found = []
    for name, group in zip(_names(groups), groups, strict=True):
        order = ranked(group, metric, direction)
        found.append(Task(name, order, verdicts_of(order, metric, direction, untuned, tasks=max(1, judged))))
    return tuple(found)


def verdict_words(task: Task, metric: str, direction: str, untuned: Mapping[str, str]) -> list[str]:
    """The verdict of every arm of a task in a few words, for a table."""
    best = [*filter(None, [task.ahead(metric, direction).get(task.best.name)])]
    best += [diverged_in(task.best)] * bool(task.best.diverged) + [NOT_TUNED] * (task.best.name in untuned)
    others = [NOT_TUNED if verdict.untuned else verdict.words for verdict in task.verdicts]  # warnings say why
    return [", ".join(best), *others]


def by_task(arms: Sequence[Arm], metric: str) -> list[list[Arm]]:
    """The arms, those of a task together.

    Arms are of one task if their data and objective have the same settings, or if the objective has and they were
    tested on the same examples, as where one was trained on fewer.
    """
    groups: list[list[Arm]] = []
    for arm in arms:
        own = next((group for group in groups if _same_task(arm, group[0], metric)), None)
        if own is None:
            groups.append([arm])
        else:
            own.append(arm)
    return groups


def _same_task(arm: Arm, other: Arm, metric: str) -> bool:
    if _rung(arm) != _rung(other):
        return False
    if not arm.config or not other.config:  # a run without its config: nothing is known against it
        return True
    apart = [section for section in SAME if arm.config.get(section) != other.config.get(section)]
    if apart != ["data"]:
        return not apart
    tested = _examples(arm, metric)
    return tested is not None and tested == _examples(other, metric)


def _rung(arm: Arm) -> list[str]:
    """The size and the steps of an arm of a ladder, in words; nothing for other arms."""
    found = RUNG.fullmatch(arm.name)
    if found is None:
        return []
    return [found["size"], f"{found['steps']} steps"] if found["steps"] else [found["size"]]


def _examples(arm: Arm, metric: str) -> str | None:
    """A digest of the test examples that judge an arm; None where they are not known."""
    if not metric.startswith(TEST) or not arm.runs:
        return None
    try:
        record = arm.runs[0].examples(metric.removeprefix(TEST))
    except UserError:  # ``over_examples`` says it
        return None
    return record.identity if record is not None else None


def _names(groups: Sequence[Sequence[Arm]]) -> list[str]:
    """The fewest settings that tell the tasks apart, the first ones of the config: 'parity', 'keys=8, pairs=4'."""
    if len(groups) < 2:
        return ["" for _ in groups]
    parts = [_rung(group[0]) for group in groups]
    if _different(parts) == 1:
        parts = [[] for _ in groups]
    configs = [{section: group[0].config.get(section) for section in SAME} for group in groups]
    flat = [dict(flatten(config)) for config in configs]
    for key in sorted(differing(configs), key=lambda key: key != "data.type"):
        longer = [
            [*own, _setting(key, config.get(key))] if parts.count(own) > 1 else own
            for own, config in zip(parts, flat, strict=True)
        ]
        if _different(longer) > _different(parts):
            parts = longer
    return [", ".join(own) for own in parts]


def _setting(key: str, value: Any) -> str:
    """'parity' of data.type, else 'pairs=4'."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text if key == "data.type" else f"{key.rpartition('.')[2]}={text}"


def _different(names: Sequence[Sequence[str]]) -> int:
    return len({tuple(name) for name in names})
