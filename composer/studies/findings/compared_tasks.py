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
from composer.studies.findings.verdicts import NOT_TUNED, Verdict, diverged_in, ranked, verdicts_of
from composer.studies.planning.ladder import RUNG
from composer.studies.records.arms import Arm
from composer.studies.records.fairness import SAME, differing, flatten
from composer.training.run.record import TEST


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


def judge_tasks(arms: Sequence[Arm], metric: str, direction: str, untuned: Mapping[str, str]) -> tuple[Task, ...]:
    """The tasks in the order of their arms, each ranked and judged for itself, with a correction for their number."""
    groups = by_task(arms, metric)
    judged = sum(len(group) > 1 for group in groups)
    found = []
    for name, group in zip(_names(groups), groups, strict=True):
        order = ranked(group, metric, direction)
        found.append(Task(name, order, verdicts_of(order, metric, direction, untuned, tasks=max(1, judged))))
    return tuple(found)


def verdict_words(task: Task, untuned: Mapping[str, str]) -> list[str]:
    """The verdict of every arm of a task in a few words, for a table."""
    best = ["best"] * bool(task.verdicts) + [diverged_in(task.best)] * bool(task.best.diverged)
    best += [NOT_TUNED] * (task.best.name in untuned)
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
