"""Run folders, found below the paths that a user names and read into records.

A folder that is not a run, or whose files cannot be read, is skipped with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from composer.runs.finding import Skipped, Unreadable, find_runs, read_record
from composer.runs.folder import RunFolder, read_lines, read_metrics
from composer.runs.record import RunRecord, SweepRecord
from composer.runs.sweep_folder import SweepFolder
from composer.training.run import example_records
from composer.training.run.example_records import ExampleRecord
from composer.training.run.record import TEST


@dataclass(frozen=True)
class ComparedRun:
    """A run as a comparison knows it, from its run.json and config.yaml.

    arm: run.json's arm, else the overrides that set the run apart from the compared ones, else its name
    result: the metrics of the best checkpoint, by names that begin with "valid/", or "test/" if there is a test split
    config: empty if the run failed before it was written
    """

    folder: Path
    arm: str
    seed: int | None
    result: Mapping[str, float]
    record: RunRecord
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def files(self) -> RunFolder:
        return RunFolder(self.folder)

    @property
    def seconds(self) -> float | None:
        """Time of training steps alone, without validations."""
        return self.record.last.get("seconds")

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl, read when asked."""
        return list(read_metrics(self.files.metrics))

    def samples(self) -> list[dict[str, Any]]:
        """The predictions of the best checkpoint, read when asked."""
        lines = read_lines(self.files.samples)
        return [line for line in lines if line.get("step") == self.record.result_step]

    def examples(self, metric: str) -> ExampleRecord | None:
        """What the run kept of its single test examples for a metric, read when asked; None if it kept nothing."""
        return example_records.read_record(self.files.test_examples, metric)


def read_runs(paths: Sequence[Path]) -> tuple[list[ComparedRun], list[Skipped]]:
    """Every run at or below these paths, once, and the folders that were skipped."""
    records: dict[str, ComparedRun] = {}
    skipped: list[Skipped] = []
    seen: set[Path] = set()
    for path in paths:
        found, foreign = find_runs(path)
        skipped += [each for each in foreign if each not in skipped]
        for folder in found:
            if folder.resolve() in seen:
                continue
            seen.add(folder.resolve())
            try:
                run = read_run(folder)
            except Unreadable as error:
                skipped.append((folder, str(error)))
                continue
            identifier = run.record.identifier or str(folder.resolve())
            if identifier in records:
                skipped.append((folder, f"the same run as {records[identifier].folder}"))
            else:
                records[identifier] = run
    return list(records.values()), skipped


def read_run(folder: Path) -> ComparedRun:
    """The record of one run. A folder without a readable run.json raises ``Unreadable``."""
    files = RunFolder(folder)
    found = read_record(files.record_file, RunRecord)
    if found.status is None:
        raise Unreadable("its run.json is not that of a run: it has no status")
    config = _read_config(files.config)
    arm = str(found.arm) if found.arm is not None else ""
    seed = found.seed if found.seed is not None else config.get("seed")
    measured = found.result | {f"{TEST}{name}": each.get("value") for name, each in found.test.items()}
    result = {name: math.nan if value is None else float(value) for name, value in measured.items()}
    return ComparedRun(folder, arm, seed if type(seed) is int else None, result, found, config)


def read_sweep(folder: Path) -> SweepRecord:
    """The record of the sweep whose folder this is; empty if it is no sweep's. A broken file raises ``Unreadable``."""
    file = SweepFolder(folder).record_file
    return read_record(file, SweepRecord) if file.is_file() else SweepRecord()


def _read_config(path: Path) -> dict[str, Any]:
    """The run's config; empty if the run failed before its config was written."""
    if not path.exists():
        return {}
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same in C, which some installations lack
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise Unreadable(f"its {path.name} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise Unreadable(f"its {path.name} is not a mapping")
    return content
