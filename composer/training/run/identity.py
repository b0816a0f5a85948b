"""What a run's folder says of the run before it trains: its config, its data, its graph, versions and git state."""

from __future__ import annotations

import json
import platform
import shlex
import subprocess
import sys
import uuid
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import yaml

from composer.core.storage.atomic_files import write_text
from composer.core.version import __version__
from composer.graph.flops import TRAINING, total_flops
from composer.runs.folder import RunFolder, cut_lines
from composer.runs.record import now
from composer.runs.resume import ResumePoint
from composer.training.loggers import RunInfo
from composer.training.run.feed import TrainingRows
from composer.training.run.plan import TrainingPlan
from composer.views.drawing import svg

#: The packages whose versions a result depends on.
PACKAGES = ("torch", "lightning", "hydra-core", "omegaconf", "tokenizers", "numpy", "wandb")


def write_identity(plan: TrainingPlan, folder: RunFolder) -> None:
    """Write the config, the versions, the git state and the graph's drawing into the folder of a new run."""
    identity = plan.identity
    write_text(folder.config, yaml.safe_dump(identity["config"], sort_keys=False, allow_unicode=True))
    write_text(folder.graph, svg(plan.summary))
    write_text(folder.data, json.dumps(identity["source"], ensure_ascii=False, indent=1) + "\n")
    if changes := _git("diff", "HEAD"):  # uncommitted changes
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
        monitor=plan.training.monitor, steps=plan.total_steps(),
    )  # fmt: skip


def run_info(plan: TrainingPlan, folder: RunFolder) -> RunInfo:
    """What a logger is told of the run."""
    known = folder.read_record()
    return RunInfo(
        folder=folder.path, name=folder.path.name, identifier=known.identifier or "",
        group=None if known.group is None else str(known.group),
        config=plan.identity["config"], size=known.size, graph_svg=svg(plan.summary),
        resumed_from=plan.saved["step"] if plan.saved is not None else None,
        phase=known.phase, untuned=known.untuned,
    )  # fmt: skip


def prepare_folder(plan: TrainingPlan, folder: RunFolder, point: ResumePoint | None) -> list[str]:
    """Make a folder that exists ready for its run: a run that is resumed, or a trial that a sweep has planned.

    Returns what was found damaged, in sentences.
    """
    folder.make()
    folder.clean()
    notes = [*point.set_aside(folder), folder.mend_record()] if point is not None else []
    step = plan.saved["step"] if plan.saved is not None else 0
    notes += [cut_lines(lines, step) for lines in (folder.metrics, folder.samples)]
    if plan.saved is None:
        write_identity(plan, folder)
    else:
        again = [*folder.read_record().resumed, {"at": now(), "step": step, "command": command()}]
        update_identity(plan, folder, resumed=again, saved=True)
    return [note for note in notes if note is not None]


def command() -> str:
    """The command line of this process, quoted for a shell."""
    return shlex.join(["python", *sys.argv])


def versions() -> dict[str, str | None]:
    return {
        "sequence-composer": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        **{name: _version(name) for name in PACKAGES},
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def git_state() -> dict[str, str | bool] | None:
    """The commit of the repository around the working directory, and whether files differ; None outside of git."""
    if (commit := _git("rev-parse", "HEAD")) is None:
        return None
    changed = bool(_git("status", "--porcelain"))
    return {"repository": _git("rev-parse", "--show-toplevel") or "", "commit": commit, "changed": changed}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
