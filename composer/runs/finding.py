"""Runs, found at or below a path, and why a folder is not one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from composer.core.problems import did_you_mean
from composer.runs import record
from composer.runs.folder import RunFolder
from composer.runs.record import Record

#: A run is found in a named folder or up to this many levels below: a folder of sweeps holds sweeps, which hold runs.
LEVELS = 3

Skipped = tuple[Path, str]


class Unreadable(Exception):
    """Why a folder is not read as a run."""


def find_runs(path: Path, levels: int = LEVELS) -> tuple[list[Path], list[Skipped]]:
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
    below = [find_runs(folder, levels - 1) for folder in _folders(path)] if levels else []
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


def read_record(path: Path, form: type[Record]) -> Record:
    """The record in a file, which has to be there. Otherwise ``Unreadable`` says why not."""
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
