"""The folder of a sweep, with a run folder for every trial, and its file sweep.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from composer.core.problems import UserError, did_you_mean
from composer.core.storage.atomic_files import write_json
from composer.core.storage.folder_names import name_problem
from composer.runs.folder import RunFolder
from composer.runs.staging import renamed, staging

#: Incremented when the meaning of sweep.json changes.
FORMAT = 1


class NamedTrial(Protocol):
    """What the folder of a sweep has to know of a trial."""

    @property
    def name(self) -> str: ...

    @property
    def number(self) -> int: ...


class SweepFolder:
    """
    sweep.json      what is swept: the kind, the arguments of the command line, the judged metric, status and times
    <number>_.../   a run folder for every trial
    study.db        the trials of a search, in Optuna's format
    results.json    the results of all trials, at the end
    report.html     their comparison, at the end
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path / "sweep.json"
        self.study = path / "study.db"
        self.results = path / "results.json"
        self.report = path / "report.html"

    @classmethod
    def find(cls, path: str | Path) -> SweepFolder:
        """The folder of an existing sweep. A path without a sweep is an error that names similar folders."""
        folder = cls(Path(path))
        if not folder.path.is_dir():
            parent = folder.path.parent
            others = [other.name for other in parent.iterdir()] if parent.is_dir() else []
            raise UserError(f"there is no sweep '{path}'.{did_you_mean(folder.path.name, others)}")
        if not folder.file.is_file():
            hint = f" It is a run: python train.py resume={path}" if RunFolder(folder.path).config.is_file() else ""
            raise UserError(f"'{path}' is not the folder of a sweep: it has no {folder.file.name}.{hint}")
        return folder

    @classmethod
    def unfinished(cls, runs: Path, arguments: Sequence[str]) -> SweepFolder | None:
        """The newest sweep of the same arguments that has not come to its end."""
        found = [cls(file.parent) for file in sorted(runs.glob("*/sweep.json"), reverse=True)]
        same = (folder for folder in found if folder.same(arguments) and not folder.over())
        return next(same, None)

    @classmethod
    def create(cls, path: Path, facts: Mapping[str, Any]) -> SweepFolder:
        """Make the folder of a new sweep, with sweep.json in it. A number is added to a name that is already used."""
        begun, lock = staging(path.parent)
        with lock:
            cls(begun.path).note({"format": FORMAT, **facts, "began": now(), "status": "running"})
            names = (path if i == 1 else path.with_name(f"{path.name}_{i}") for i in count(1))
            return cls(next(name for name in names if is_free(name) and renamed(begun.path, name)))

    def read(self) -> dict[str, Any]:
        """The content of sweep.json."""
        try:
            facts = json.loads(self.file.read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise UserError(f"'{self.file}' cannot be read: {error}.") from error
        if facts.get("format") != FORMAT:
            raise UserError(f"'{self.file}' is of format {facts.get('format')}; this version reads format {FORMAT}.")
        return facts

    def note(self, facts: Mapping[str, Any]) -> None:
        """Add facts to sweep.json."""
        known = self.read() if self.file.is_file() else {}
        write_json(self.file, known | dict(facts))

    def same(self, arguments: Sequence[str]) -> bool:
        try:
            return self.read()["arguments"] == list(arguments)
        except UserError:  # the sweep of another version, or a broken file: not this one
            return False

    def over(self) -> bool:
        return self.read()["status"] == "finished"

    def run(self, trial: NamedTrial) -> RunFolder:
        if (problem := name_problem(trial.name)) is not None:  # sweep.json may be somebody else's
            raise UserError(f"'{self.file}': the name of trial {trial.number}: {problem}")
        return RunFolder(self.path / trial.name)

    def runs(self) -> Iterator[RunFolder]:
        """The run folders of the trials that were started, by their numbers."""
        found = [path.parent for path in self.path.glob("*/run.json")]
        yield from (RunFolder(path) for path in sorted(found, key=number))


def number(path: Path) -> tuple[bool, int, str]:
    """The number that begins a trial's folder, as a key to sort by; folders of another form come last."""
    first = path.name.partition("_")[0]
    return not first.isdecimal(), int(first) if first.isdecimal() else 0, path.name


def is_free(path: Path) -> bool:
    """Whether a sweep can have its folder here: there is nothing, or an empty folder."""
    return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
