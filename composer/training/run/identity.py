"""What a run's folder says of the run before it trains: its config, its data, its graph, versions and git state."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import yaml

from composer.core.storage.atomic_files import write_text
from composer.graph.flops import TRAINING, total_flops
from composer.runs.folder import RunFolder, cut_lines
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
    # A run that begins anew in its folder, or a trial that a sweep has planned there, keeps what was known of it.
    facts = new_facts(plan) | folder.read_facts() | {"status": "running", "reason": None}
    facts |= {"began": now(), "command": command(), "versions": versions(), "git": git_state()}
    facts |= {"init": plan.taken_from} if plan.taken_from is not None else {}
    folder.note(facts | {"group": identity["config"]["group"], **sizes(plan)})


def new_facts(plan: TrainingPlan) -> dict[str, Any]:
    """What run.json says of every run from its beginning on."""
    overrides, group = list(plan.composed.overrides), plan.composed.written()["group"]
    return {"identifier": uuid.uuid4().hex[:8], "overrides": overrides, "group": group}


def sizes(plan: TrainingPlan) -> dict[str, Any]:
    """What run.json says of a run's size: FLOPs are those at the lengths of its training data."""
    config = plan.composed.written()
    rows = TrainingRows.of(plan)
    flops = total_flops(plan.meta, rows.counts)
    size = {
        "parameters": plan.summary["totals"]["parameters"],
        "flops_per_token": flops / rows.tokens,
        "train_flops_per_example": TRAINING * flops / rows.examples,
    }
    facts = {"seed": config["seed"], "arm": config.get("arm"), "budget": config.get("budget"), "size": size}
    return facts | {"monitor": plan.training.monitor}


def run_info(plan: TrainingPlan, folder: RunFolder, saved: Mapping[str, Any] | None) -> RunInfo:
    """What a logger is told of the run."""
    known = folder.read_facts()
    return RunInfo(
        folder=folder.path, name=folder.path.name, identifier=known["identifier"], group=known["group"],
        config=plan.identity["config"], size=known["size"], graph_svg=svg(plan.summary),
        resumed_from=saved["step"] if saved is not None else None,
        phase=(known.get("trial") or {}).get("phase"), untuned=known.get("untuned"),
    )  # fmt: skip


def prepare_folder(plan: TrainingPlan, folder: RunFolder, point: ResumePoint | None) -> list[str]:
    """Make a folder that exists ready for its run: a run that is resumed, or a trial that a sweep has planned.

    Returns what was found damaged, in sentences.
    """
    saved = point.saved if point is not None else None
    folder.make()
    folder.clean()
    notes: list[str | None] = [*point.set_aside(folder)] if point is not None else []
    if point is not None:
        notes.append(folder.mend_facts())
    step = saved["step"] if saved is not None else 0
    notes += [cut_lines(lines, step) for lines in (folder.metrics, folder.samples)]
    if saved is None:
        write_identity(plan, folder)
    else:
        facts = new_facts(plan) | folder.read_facts()
        again = [*facts.get("resumed", []), {"at": now(), "step": step, "command": command()}]
        folder.note(facts | {"status": "running", "reason": None, "resumed": again, "saved": True, **sizes(plan)})
    return [note for note in notes if note is not None]


def now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
