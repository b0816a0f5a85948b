"""The table of arms: quality with intervals over seeds, the verdict against the best arm, and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from composer.studies.comparison import Comparison, Verdict
from composer.studies.findings.over_examples import OverExamples
from composer.studies.records.costs import costs


def arms_of(comparison: Comparison) -> list[dict[str, Any]]:
    """The rows of the table, task by task, best first."""
    tasks = {arm.name: number for number, task in enumerate(comparison.tasks) for arm in task.arms}
    verdicts = {verdict.arm: verdict for verdict in comparison.verdicts}
    names = metrics_of(comparison)
    return [
        {
            "name": arm.name,
            "task": tasks[arm.name],
            "overrides": arm.overrides,
            "seeds": [run.seed for run in arm.runs],
            "diverged": arm.diverged,
            "quality": {name: arm.quality(name) for name in names if arm.measured(name)},
            "costs": {cost.key: arm.cost(cost) for cost in costs("report")},
            "verdict": _verdict(verdicts.get(arm.name), comparison.over_examples.get(arm.name)),
            "untuned": comparison.untuned.get(arm.name, ""),
        }
        for arm in comparison.arms
    ]


def metrics_of(comparison: Comparison) -> list[str]:
    """The metrics that an arm was measured by, at its best checkpoints; the judged one first."""
    names = dict.fromkeys(name for arm in comparison.arms for run in arm.runs for name in run.result)
    found = [name for name in names if any(arm.measured(name) for arm in comparison.arms)]
    return [comparison.judged, *(name for name in found if name != comparison.judged)]


def costs_of(arms: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The costs that are known of at least one arm."""
    return [
        {"key": cost.key, "label": cost.label, "unit": cost.unit, "direction": cost.direction}
        for cost in costs("report")
        if any(arm["costs"][cost.key] is not None for arm in arms)
    ]


def _verdict(verdict: Verdict | None, over: OverExamples | None) -> dict[str, Any] | None:
    """An arm's verdict; None for the best arm."""
    if verdict is None:
        return None
    shown = {name: getattr(verdict, name) for name in ("words", "difference", "p", "distinguishable", "paired")}
    return shown | {"over_examples": over.interval if over is not None else None}
