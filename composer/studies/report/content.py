"""The data of the page, section by section, as plain data for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from composer.core.version import __version__
from composer.graph.flops import TRAINING
from composer.studies.comparison import SHOWN, Comparison
from composer.studies.json_data import plain, rounded
from composer.studies.records.run_records import ComparedRun
from composer.studies.report.arms_section import arms_of, costs_of, differences, metrics_of, possible_values
from composer.studies.report.curves_section import POINTS, curves_of
from composer.studies.report.ladder_section import ladder_of
from composer.studies.report.lengths_section import by_length_of, lengths_of
from composer.studies.report.making_section import making_of
from composer.studies.report.outputs_section import outputs_of
from composer.studies.report.pictures_section import graphs_of, pictures_of
from composer.studies.report.tuning_section import tuning_of

#: The significant digits of numbers on the page, so that it stays small.
DIGITS = 7


def content_of(
    comparison: Comparison, command: str, plugins: Sequence[str] = (), *, figures: bool = True
) -> dict[str, Any]:
    """The whole content. A section that has nothing to show is None."""
    numbers = {
        "arms": arms_of(comparison),
        "ladder": ladder_of(comparison.ladders),
        "by_length": by_length_of(comparison),
        "tuning": tuning_of(comparison),
        "making": making_of(comparison),
    }
    found = {name: plain(section, DIGITS) for name, section in numbers.items()}
    return {
        **{name: getattr(comparison, name) for name in SHOWN},
        "subject": _subject(comparison),
        "tasks": [task.name for task in comparison.tasks],
        **found,
        "metrics": metrics_of(comparison),
        "possible": possible_values(metrics_of(comparison)),
        "costs": costs_of(found["arms"]),
        "curves": {
            "points": POINTS,
            "training_flops": TRAINING,
            "arms": [[_curves(run) for run in arm.runs] for arm in comparison.arms],
        },
        "lengths": lengths_of(comparison.arms),
        "outputs": outputs_of(
            [[(arm.name, arm.runs[0].samples()) for arm in task.arms if arm.runs] for task in comparison.tasks]
        ),
        "pictures": pictures_of(comparison.arms, plugins) if figures else None,
        "graphs": graphs_of(comparison.arms),
        "configs": differences(comparison.arms),
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
    flops = rounded(run.record.size.get("train_flops_per_example"), DIGITS)
    return {"run": run.name, "seed": run.seed, "flops": flops, **curves_of(run.metrics())}
