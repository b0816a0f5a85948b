"""Run folders, found below the paths that a user names and read into records.

A folder that is not a run, or whose files cannot be read, is skipped with the reason.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from composer.core.problems import did_you_mean
from composer.runs import record
from composer.runs.folder import RunFolder, read_lines, read_metrics
from composer.runs.record import Record, RunRecord, SweepRecord
from composer.runs.sweep_folder import SweepFolder
from composer.training.run.example_records import ExampleRecord, read_record
from composer.training.run.record import TEST

#: A run is found in a named folder or up to this many levels below: a folder of sweeps holds sweeps, which hold runs.
LEVELS = 3

Skipped = tuple[Path, str]


class Unreadable(Exception):
    """Why a folder is not read as a run."""


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
        return read_record(self.files.test_examples, metric)


def read_runs(paths: Sequence[Path]) -> tuple[list[ComparedRun], list[Skipped]]:
    """Every run at or below these paths, once, and the folders that were skipped."""
    records: dict[str, ComparedRun] = {}
    skipped: list[Skipped] = []
    seen: set[Path] = set()
    for path in paths:
        found, foreign = _find(path, LEVELS)
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
    found = _read(files.record_file, RunRecord)
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
    return _read(file, SweepRecord) if file.is_file() else SweepRecord()


def _find(path: Path, levels: int) -> tuple[list[Path], list[Skipped]]:
    """The folders of runs at or below a path, and those at or below it that hold no run."""
    try:
        return _look(path, levels)
    except OSError as error:
        return [], [(path, f"cannot be read: {error.strerror}")]


def _look(path: Path, levels: int) -> tuple[list[Path], list[Skipped]]:
    if not path.exists():
        near = did_you_mean(path.name, (other.name for other in _folders(path.parent)))
        return [], [(path, f"there is no such folder{f'.{near}' if near else ''}")]
    if not path.is_dir():
        return [], [(path, "a file, not the folder of a run")]
    files = RunFolder(path)
    if files.record_file.exists() or files.config.exists():
        return [path], []
    below = [_find(folder, levels - 1) for folder in _folders(path)] if levels else []
    runs = [run for found, _ in below for run in found]
    if not runs:
        return [], [(path, "no run.json in it")]
    return runs, [each for _, foreign in below for each in foreign]


def _folders(path: Path) -> Iterator[Path]:
    """The folders inside a folder, hidden ones left out, with 2_a before 10_a."""
    if path.is_dir():
        inside = [child for child in path.iterdir() if child.is_dir() and not child.name.startswith(".")]
        yield from sorted(inside, key=_by_number)


def _by_number(path: Path) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", path.name)]


def _read(path: Path, form: type[Record]) -> Record:
    try:
        path.open("rb").close()  # of a missing file, the record would be empty
        return record.read(path, form)
    except FileNotFoundError as error:
        raise Unreadable(f"no {path.name} in it") from error
    except OSError as error:
        raise Unreadable(f"its {path.name} cannot be read: {error.strerror}") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"its {path.name} is not JSON: {error}") from error
    except ValueError as error:
        raise Unreadable(f"its {path.name} cannot be read: {error}") from error


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
