"""The table of arms: quality with intervals over seeds, the verdict against the best arm, and costs; and the values of
the configs in which the arms differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from composer.metrics import possible
from composer.studies.comparison import Arm, Comparison, Task, Verdict
from composer.studies.findings.over_examples import OverExamples
from composer.studies.json_data import finite
from composer.studies.records.arm_names import NEUTRAL
from composer.studies.records.arms import costs
from composer.studies.records.fairness import flatten

#: Arms whose configs are shown side by side, the best ones.
CONFIGS = 12

ABSENT = "—"


def arms_of(comparison: Comparison) -> list[dict[str, Any]]:
    """The rows of the table, task by task, best first."""
    tasks = {arm.name: number for number, task in enumerate(comparison.tasks) for arm in task.arms}
    verdicts = {verdict.arm: verdict for verdict in comparison.verdicts}
    names = metrics_of(comparison)
    shown = {name: comparison.shown(name) for name in names}
    ahead = {arm: words for task in comparison.tasks for arm, words in _ahead(task, comparison).items()}
    return [
        {
            "name": arm.name,
            "task": tasks[arm.name],
            "overrides": arm.overrides,
            "seeds": [run.seed for run in arm.runs],
            "diverged": arm.diverged,
            "quality": {name: arm.quality(name) for name in names if arm.measured(name)},
            "shown": {name: shown[name][place] for name in names if arm.measured(name)},
            "ahead": ahead.get(arm.name),
            "costs": {cost.key: arm.cost(cost) for cost in costs("report")},
            "verdict": _verdict(verdicts.get(arm.name), comparison.over_examples.get(arm.name)),
            "untuned": comparison.untuned.get(arm.name, ""),
        }
        for place, arm in enumerate(comparison.arms)
    ]


def _ahead(task: Task, comparison: Comparison) -> dict[str, str]:
    return task.ahead(comparison.judged, comparison.direction)


def possible_values(metrics: Sequence[str]) -> dict[str, tuple[float | None, float | None]]:
    """The lowest and the highest value of each metric, None where there is no bound, to which intervals are cut."""
    bounds = {name: possible(name, metrics) for name in metrics}
    return {name: (finite(low), finite(high)) for name, (low, high) in bounds.items()}


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


def differences(arms: tuple[Arm, ...]) -> dict[str, Any] | None:
    """A row for every key that differs, with the value in each arm; None if fewer than two arms can be compared."""
    shown = [arm for arm in arms if arm.runs][:CONFIGS]
    if len(shown) < 2:
        return None
    configs = [{key: value for key, value in arm.runs[0].config.items() if key not in NEUTRAL} for arm in shown]
    flat = [{key: in_yaml(value) for key, value in flatten(config)} for config in configs]
    keys = dict.fromkeys(key for config in flat for key in config)
    rows = [{"key": key, "values": [config.get(key, ABSENT) for config in flat]} for key in keys]
    rows = [row for row in rows if len(set(row["values"])) > 1]
    return {"arms": [arm.name for arm in shown], "rows": rows, "left_out": len(arms) - len(shown)}


def in_yaml(value: Any) -> str:
    """A value as YAML on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**6)
    text = text.removesuffix("\n").removesuffix("\n...").strip()
    return json.dumps(value, ensure_ascii=False, default=str) if "\n" in text else text  # JSON is YAML, too
