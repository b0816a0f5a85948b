"""Warnings about a comparison: arms alone with their data, other settings within an arm, runs missing from a mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from composer.core.problems import listed
from composer.studies.records.arm_names import NEUTRAL, grouped
from composer.studies.records.arms import Arm
from composer.studies.records.run_records import ComparedRun

#: Sections in which the arms of a task agree: a loss on other data, or of another objective, is another quantity.
SAME = ("data", "objective")

#: Sections in which the runs of one arm may differ: they decide where and not what to train.
FREE = (*NEUTRAL, "trainer")

#: Keys that a warning names.
NAMED = 5


def unfair_settings(runs: Sequence[ComparedRun]) -> list[str]:
    """Sentences about runs of one arm whose configs differ in more than their seeds."""
    sentences = []
    for arm, group in grouped(runs, lambda run: run.arm).items():
        keys = differing(
            [{key: value for key, value in run.config.items() if key not in FREE} for run in group if run.config]
        )
        if keys:
            sentences.append(f"The runs of {arm} differ in more than their seeds ({listed(keys, NAMED)}).")
    return sentences


def not_comparable(tasks: Sequence[Sequence[Arm]]) -> list[str]:
    """A sentence about arms that are compared with no other one, because no other has the same data."""
    alone = [task[0].name for task in tasks if len(task) == 1]
    if len(tasks) < 2 or not alone:
        return []
    keys = differing([{section: task[0].config.get(section) for section in SAME} for task in tasks])
    which = f"{len(alone)} arms are" if len(alone) > NAMED else f"{listed(alone)} {'is' if len(alone) == 1 else 'are'}"
    reason = f"data or objective ({listed(keys, NAMED)})" if keys else "size"
    return [f"{which} compared with no other arm: the arms differ in their {reason}, so results are not comparable."]


def missing_runs(
    runs: Sequence[ComparedRun], left_out: Sequence[ComparedRun], diverged: Sequence[ComparedRun] = ()
) -> list[str]:
    """Sentences about arms without some of their runs: if these were bad, the arm looks better than it is.

    An arm of which every run ``diverged`` is among the arms, and says so itself.
    """
    compared, lost = (grouped(group, lambda run: run.arm) for group in (runs, diverged))
    there = {(run.arm, run.seed) for run in runs}
    missing = Counter(run.arm for run in left_out if (run.arm, run.seed) not in there)
    sentences = []
    for arm, count in missing.items():
        if arm in compared:
            total, verb = count + len(compared[arm]), "is" if count == 1 else "are"
            sentences.append(f"{count} of the {total} runs of {arm} {verb} missing from its mean.")
        elif arm not in lost:
            sentences.append(f"{arm} is not compared: none of its runs has a result.")
    return sentences


def differing(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys whose values are not the same in all of these configs."""
    flat = [dict(flatten(config)) for config in configs]
    keys = dict.fromkeys(key for config in flat for key in config)
    return [key for key in keys if any(config.get(key) != flat[0].get(key) for config in flat)]


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a config by their dotted keys."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from flatten(inner, f"{path}.{key}" if path else str(key))
    elif path:
        yield path, value
