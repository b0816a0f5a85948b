"""How the results were made: data, seeds, budgets, tuning, versions, git state, machine, commands."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from composer.runs.sweep_folder import SweepFolder
from composer.studies.comparison import Arm, Comparison
from composer.studies.json_data import finite, rounded
from composer.studies.records.arm_names import grouped
from composer.studies.records.run_records import ComparedRun
from composer.studies.report.tuning_section import searched_arm

#: Commands on the page at most. Runs of a sweep share one.
COMMANDS = 20

#: The sections of a config that every arm of a fair comparison shares.
SHARED = ("data", "objective", "training", "optimiser", "schedule", "trainer")


def making_of(comparison: Comparison) -> dict[str, Any]:
    finals = [run for arm in comparison.arms for run in arm.runs]
    runs = list({run.folder: run for run in (*finals, *comparison.trials)}.values())  # trials may be compared, too
    commands = list(dict.fromkeys(run.record.command for run in runs if run.record.command))
    return {
        "settings": [_setting(name, finals or runs) for name in SHARED],
        "seeds": [{"arm": arm.name, "seeds": [run.seed for run in arm.runs]} for arm in comparison.arms],
        "budgets": [budget for arm in comparison.arms if (budget := _budget(arm)) is not None],
        "tuning": _tuning(comparison.trials),
        "sweeps": [sweep for path in comparison.sources if (sweep := _sweep(path)) is not None],
        "versions": _versions(runs),
        "commits": _counted(_commit(run) for run in runs),
        "commands": commands[:COMMANDS],
        "more_commands": max(0, len(commands) - COMMANDS),
        "runs": [_run(run, comparison.judged, comparison.validated) for run in runs],
    }


def _setting(name: str, runs: Sequence[ComparedRun]) -> dict[str, Any]:
    """A section of the runs' configs as YAML, each form of it once, with the number of runs that have it."""
    forms = _counted(json.dumps(run.config.get(name), default=str) for run in runs)  # quicker than YAML for every run
    return {"name": name, "forms": [form | {"text": _yaml(json.loads(form["text"]))} for form in forms]}


def _budget(arm: Arm) -> dict[str, Any] | None:
    budget = arm.runs[0].record.budget if arm.runs else None
    if not budget:
        return None
    target, reached = finite(budget.get("target")), finite(budget.get("reached"))
    residual = rounded(reached / target - 1, 3) if target and reached is not None else None
    return {
        "arm": arm.name, "kind": str(budget.get("kind")), "target": target, "reached": reached, "residual": residual,
    }  # fmt: skip


def _tuning(trials: Sequence[ComparedRun]) -> list[dict[str, Any]]:
    """How many tuning trials every arm had, and how they ended."""
    found = []
    for arm, own in grouped(trials, searched_arm).items():
        seeds = sorted({trial.seed for trial in own if trial.seed is not None})
        ended = _counted(str(trial.record.status) for trial in own)
        found.append({"arm": arm, "trials": len(own), "ended": ended, "seeds": seeds})
    return found


def _sweep(path: Path) -> dict[str, Any] | None:
    """What sweep.json says of a sweep or a study; None for a run, or for a file that cannot be read."""
    try:
        facts = json.loads(SweepFolder(path).record_file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(facts, Mapping):
        return None
    return {"path": str(path), "text": _yaml(facts)}


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True).strip()


def _versions(runs: Sequence[ComparedRun]) -> list[dict[str, Any]]:
    """The versions of the packages, and the machine; more than one value where the runs differ."""
    known = [run.record.versions for run in runs]
    names = dict.fromkeys(name for versions in known for name in versions)
    return [
        {"name": name, "values": _counted(str(versions[name]) for versions in known if versions.get(name) is not None)}
        for name in names
    ]


def _commit(run: ComparedRun) -> str:
    git = run.record.git
    if not git:
        return "outside of git"
    return f"{git.get('commit')}{', with uncommitted changes' if git.get('changed') else ''}"


def _run(run: ComparedRun, judged: str, validated: str) -> dict[str, Any]:
    return {
        "name": run.name, "arm": run.arm, "seed": run.seed, "phase": run.record.phase, "status": run.record.status,
        "reason": run.record.reason, "validated": run.result.get(validated), "value": run.result.get(judged),
        "step": run.record.result_step, "seconds": run.seconds, "folder": run.folder,
    }  # fmt: skip


def _counted(texts: Iterable[str]) -> list[dict[str, Any]]:
    """Every distinct text with the number of its occurrences, the most frequent first."""
    return [{"text": text, "count": count} for text, count in Counter(texts).most_common()]
