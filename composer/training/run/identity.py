"""What a run's folder says of the run before it trains: its config, its data, its graph, versions and git state."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

import yaml

from composer.core.storage.atomic_files import write_text
from composer.graph.flops import TRAINING, total_flops
from composer.runs.folder import RunFolder, cut_lines
from composer.runs.record import now
from composer.runs.resume import ResumePoint
from composer.training.loggers import RunInfo
from composer.training.run.environment import command, git_changes, git_state, versions
from composer.training.run.feed import TrainingRows
from composer.training.run.plan import TrainingPlan
from composer.views.drawing import svg


def write_identity(plan: TrainingPlan, folder: RunFolder) -> None:
    """Write the config, the versions, the git state and the graph's drawing into the folder of a new run."""
    identity = plan.identity
    write_text(folder.config, yaml.safe_dump(identity["config"], sort_keys=False, allow_unicode=True))
    write_text(folder.graph, svg(plan.summary))
    write_text(folder.data, json.dumps(identity["source"], ensure_ascii=False, indent=1) + "\n")
    if changes := git_changes():
        write_text(folder.path / "changes.patch", changes + "\n")
    init = {"init": plan.taken_from} if plan.taken_from is not None else {}
    update_identity(plan, folder, began=now(), command=command(), versions=versions(), git=git_state(), **init)


def update_identity(plan: TrainingPlan, folder: RunFolder, **changes: Any) -> None:
    """Write into run.json what it says of every run from its beginning on, and the changes.

    A run that begins anew in its folder, or a trial that a sweep has planned there, keeps what was known of it. FLOPs
    are those at the lengths of the training data.
    """
    known, config = folder.read_record(), plan.composed.written()
    rows = TrainingRows.of(plan)
    flops = total_flops(plan.meta, rows.counts)
    folder.update_record(
        identifier=known.identifier or uuid.uuid4().hex[:8],
        overrides=known.overrides if folder.record_file.is_file() else list(plan.composed.overrides),
        status="running", reason=None, **changes,
        group=config["group"], seed=config["seed"], arm=config.get("arm"), budget=config.get("budget"),
        size={
            "parameters": plan.summary["totals"]["parameters"],
            "flops_per_token": flops / rows.tokens,
            "train_flops_per_example": TRAINING * flops / rows.examples,
        },
        monitor=plan.training.monitor,
    )  # fmt: skip


def run_info(plan: TrainingPlan, folder: RunFolder, saved: Mapping[str, Any] | None) -> RunInfo:
    """What a logger is told of the run."""
    known = folder.read_record()
    return RunInfo(
        folder=folder.path, name=folder.path.name, identifier=known.identifier or "",
        group=None if known.group is None else str(known.group),
        config=plan.identity["config"], size=known.size, graph_svg=svg(plan.summary),
        resumed_from=saved["step"] if saved is not None else None,
        phase=known.phase, untuned=known.untuned,
    )  # fmt: skip


def prepare_folder(plan: TrainingPlan, folder: RunFolder, point: ResumePoint | None) -> list[str]:
    """Make a folder that exists ready for its run: a run that is resumed, or a trial that a sweep has planned.

    Returns what was found damaged, in sentences.
    """
    saved = point.saved if point is not None else None
    folder.make()
    folder.clean()
    notes = [*point.set_aside(folder), folder.mend_record()] if point is not None else []
    step = saved["step"] if saved is not None else 0
    notes += [cut_lines(lines, step) for lines in (folder.metrics, folder.samples)]
    if saved is None:
        write_identity(plan, folder)
    else:
        again = [*folder.read_record().resumed, {"at": now(), "step": step, "command": command()}]
        update_identity(plan, folder, resumed=again, saved=True)
    return [note for note in notes if note is not None]
