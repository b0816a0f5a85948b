"""Warnings about a comparison: other data, other settings within an arm, runs that are missing from a mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from composer.core.problems import listed
from composer.studies.naming import NEUTRAL, grouped
from composer.studies.runs import RunRecord

#: Sections in which all compared runs should agree: a loss on other data, or of another task, is another quantity.
SAME = ("data", "objective")

#: Sections in which the runs of one arm may differ: they decide where and not what to train.
FREE = (*NEUTRAL, "trainer")

#: Keys that a warning names.
NAMED = 5


def unfair_settings(runs: Sequence[RunRecord]) -> list[str]:
    """Sentences about differences between the configs of compared runs that should not be there."""
    return [*_other_data(runs), *_other_settings(runs)]


def missing_runs(
    runs: Sequence[RunRecord], left_out: Sequence[RunRecord], diverged: Sequence[RunRecord] = ()
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


def _other_data(runs: Sequence[RunRecord]) -> Iterator[str]:
    for section in SAME:
        keys = _differing([{section: run.config.get(section)} for run in runs if run.config])
        if keys:
            yield f"The runs differ in their {section} ({listed(keys, NAMED)}), so their results are not comparable."


def _other_settings(runs: Sequence[RunRecord]) -> Iterator[str]:
    for arm, group in grouped(runs, lambda run: run.arm).items():
        keys = _differing(
            [{key: value for key, value in run.config.items() if key not in FREE} for run in group if run.config]
        )
        if keys:
            yield f"The runs of {arm} differ in more than their seeds ({listed(keys, NAMED)})."


def _differing(configs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The keys whose values are not the same in all of these configs."""
    flat = [dict(_flatten(config)) for config in configs]
    keys = dict.fromkeys(key for config in flat for key in config)
    return [key for key in keys if any(config.get(key) != flat[0].get(key) for config in flat)]


def _flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flatten(inner, f"{path}.{key}" if path else str(key))
    else:
        yield path, value
