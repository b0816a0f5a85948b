"""The data of the page, section by section, as plain data for JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from composer.core.version import __version__
from composer.graph.flops import TRAINING
from composer.studies.comparison import Comparison
from composer.studies.records.run_records import ComparedRun
from composer.studies.report.arms import arms_of, costs_of, metrics_of
from composer.studies.report.by_length import by_length_of
from composer.studies.report.configs import differences
from composer.studies.report.curves import POINTS, curves_of, last_value
from composer.studies.report.graphs import graphs_of
from composer.studies.report.ladder_section import ladder_of
from composer.studies.report.lengths import lengths_of
from composer.studies.report.making import making_of
from composer.studies.report.numbers import rounded
from composer.studies.report.outputs import outputs_of
from composer.studies.report.pictures import pictures_of
from composer.studies.report.tuning_section import tuning_of
from composer.studies.statistics.over_seeds import Estimate, estimate


def content_of(
    comparison: Comparison, command: str, plugins: Sequence[str] = (), *, figures: bool = True
) -> dict[str, Any]:
    """The whole content. A section that has nothing to show is None."""
    curves = [[_curves(run) for run in arm.runs] for arm in comparison.arms]
    arms = arms_of(comparison, [_training_flops(own) for own in curves])
    return {
        "sentence": comparison.sentence,
        "answers": list(comparison.answers),
        "subject": _subject(comparison),
        "judged": comparison.judged,
        "validated": comparison.validated,
        "direction": comparison.direction,
        "methods": comparison.methods,
        "warnings": list(comparison.warnings),
        "tasks": [task.name for task in comparison.tasks],
        "arms": arms,
        "metrics": metrics_of(comparison),
        "costs": costs_of(arms),
        "curves": {"points": POINTS, "training_flops": TRAINING, "arms": curves},
        "ladder": ladder_of(comparison.ladders),
        "lengths": lengths_of(comparison.arms),
        "by_length": by_length_of(comparison),
        "tuning": tuning_of(comparison),
        "outputs": outputs_of(
            [[(arm.name, arm.runs[0].samples()) for arm in task.arms if arm.runs] for task in comparison.tasks]
        ),
        "pictures": pictures_of(comparison.arms, plugins) if figures else None,
        "graphs": graphs_of(comparison.arms),
        "configs": differences(comparison.arms),
        "making": making_of(comparison),
        "skipped": [{"path": str(path), "reason": reason} for path, reason in comparison.skipped],
        "command": command,
        "version": __version__,
        "written": datetime.now().astimezone().isoformat(timespec="minutes"),
    }


def _subject(comparison: Comparison) -> dict[str, Any]:
    """What was compared: the data sets and the paths that the user named."""
    runs = [*(run for arm in comparison.arms for run in arm.runs), *comparison.trials]
    data = dict.fromkeys(str((run.config.get("data") or {}).get("type", "unknown")) for run in runs)
    return {"data": list(data), "sources": [str(path) for path in comparison.sources]}


def _curves(run: ComparedRun) -> dict[str, Any]:
    """A run's curves, and its FLOPs of training per example."""
    flops = None if run.train_flops_per_example is None else rounded(run.train_flops_per_example, 7)
    return {"run": run.name, "seed": run.seed, "flops": flops, **curves_of(run.metrics())}


def _training_flops(curves: Sequence[Mapping[str, Any]]) -> Estimate | None:
    """The FLOPs of the whole training, over an arm's runs; None unless every run recorded its examples and its size."""
    found = []
    for run in curves:
        examples = last_value(run["training"], "examples")
        if run["flops"] is None or examples is None:
            return None
        found.append(run["flops"] * examples)
    return estimate(found) if found else None
