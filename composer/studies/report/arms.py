"""The table of arms: quality with intervals over seeds, the verdict against the best arm, and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from composer.studies.comparison import Arm, Comparison, Verdict
from composer.studies.findings.over_examples import OverExamples
from composer.studies.report.numbers import estimate_data, rounded
from composer.studies.statistics.over_seeds import Estimate

#: What an arm costs: the key, its name on the page, its unit, and whether less or more of it is better.
COSTS = (
    ("parameters", "parameters", "", "min"),
    ("flops_per_token", "FLOPs a token", "FLOPs", "min"),
    ("training_flops", "training FLOPs", "FLOPs", "min"),
    ("seconds", "training time", "s", "min"),
    ("tokens_per_second", "tokens a second", "tokens/s", "max"),
    ("peak_memory", "peak memory", "B", "min"),
)


def arms_of(comparison: Comparison, training_flops: Sequence[Estimate | None]) -> list[dict[str, Any]]:
    """The rows of the table, task by task, best first. ``training_flops``: of each arm's whole training."""
    tasks = {arm.name: number for number, task in enumerate(comparison.tasks) for arm in task.arms}
    verdicts = {verdict.arm: verdict for verdict in comparison.verdicts}
    names = metrics_of(comparison)
    return [
        {
            "name": arm.name,
            "task": tasks[arm.name],
            "overrides": list(arm.overrides),
            "seeds": [run.seed for run in arm.runs],
            "diverged": list(arm.diverged),
            "quality": {name: estimate_data(arm.quality(name)) for name in names if arm.measured(name)},
            "costs": _costs(arm, flops),
            "verdict": _verdict(verdicts.get(arm.name), comparison.over_examples.get(arm.name)),
            "untuned": comparison.untuned.get(arm.name, ""),
        }
        for arm, flops in zip(comparison.arms, training_flops, strict=True)
    ]


def metrics_of(comparison: Comparison) -> list[str]:
    """The metrics that an arm was measured by, at its best checkpoints; the judged one first."""
    names = dict.fromkeys(name for arm in comparison.arms for run in arm.runs for name in run.result)
    found = [name for name in names if any(arm.measured(name) for arm in comparison.arms)]
    return [comparison.judged, *(name for name in found if name != comparison.judged)]


def costs_of(arms: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The costs that are known of at least one arm."""
    return [
        {"key": key, "label": label, "unit": unit, "direction": direction}
        for key, label, unit, direction in COSTS
        if any(arm["costs"][key] is not None for arm in arms)
    ]


def _costs(arm: Arm, training_flops: Estimate | None) -> dict[str, Any]:
    found = {
        "parameters": arm.parameters,
        "flops_per_token": arm.flops_per_token,
        "training_flops": training_flops,
        "seconds": arm.seconds,
        "tokens_per_second": arm.tokens_per_second,
        "peak_memory": arm.peak_memory,
    }
    return {key: estimate_data(cost) for key, cost in found.items()}


def _verdict(verdict: Verdict | None, over: OverExamples | None) -> dict[str, Any] | None:
    """An arm's verdict; None for the best arm."""
    if verdict is None:
        return None
    return {
        "words": verdict.words,
        "difference": estimate_data(verdict.difference),
        "p": rounded(verdict.p, 3),
        "distinguishable": verdict.distinguishable,
        "paired": verdict.paired,
        "over_examples": None if over is None or over.interval is None else [rounded(end, 4) for end in over.interval],
    }
