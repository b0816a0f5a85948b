"""The folder of a run and the paths of its files, and what it has alike with the folder of a sweep."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Generic, Self

from composer.core.problems import UserError, did_you_mean
from composer.core.storage.atomic_files import check_links, remove_temporary, write_bytes
from composer.runs import record
from composer.runs.record import Record, RunRecord

#: What is appended to the name of a damaged file that is set aside.
DAMAGED = ".damaged"

#: How the name of a checkpoint ends, and how it ended before format 3.
SUFFIX, OLD_SUFFIX = ".safetensors", ".pt"

#: Bytes at the end of metrics.jsonl that are read to show a running trial.
TAIL = 65536


class RecordedFolder(Generic[Record]):
    """A folder with a record of what is in it, a JSON file.

    noun: what the folder is the folder of
    form: the type of the record
    record_file: the file of the record
    inner: the folders inside to which files are written
    mark: the file without which the folder is that of something else
    """

    noun: ClassVar[str]
    form: type[Record]
    mark: Path

    def __init__(self, path: Path, record_name: str, *inner: str) -> None:
        self.path = path
        self.record_file = path / record_name
        self.inner = [path / name for name in inner]

    @classmethod
    def find(cls, path: str | Path) -> Self:
        """The folder that exists at a path. A path without one is an error that names similar folders."""
        folder = cls(Path(path))  # type: ignore[call-arg]
        if not folder.path.is_dir():
            parent = folder.path.parent
            others = [other.name for other in parent.iterdir()] if parent.is_dir() else []
            raise UserError(f"there is no {cls.noun} '{path}'.{did_you_mean(folder.path.name, others)}")
        if not folder.mark.is_file():
            raise UserError(
                f"'{path}' is not the folder of a {cls.noun}: it has no {folder.mark.name}.{folder.other_kind()}"
            )
        return folder

    def other_kind(self) -> str:
        """A hint, after a space, where the folder is that of something else."""
        return ""

    def check_links(self) -> None:
        """Raise an error for a link that leads out of the folder, before anything is written into it."""
        for folder in (self.path, *self.inner):
            check_links(folder, self.path)

    def clean(self) -> None:
        """Remove the files that a killed process did not finish writing."""
        for folder in (self.path, *self.inner):
            remove_temporary(folder)

    def read_record(self) -> Record:
        """What the record says: nothing without the file."""
        try:
            return record.read(self.record_file, self.form)
        except json.JSONDecodeError as error:
            raise UserError(f"'{self.record_file}' cannot be read: {error}.{self.advice()}") from error
        except ValueError as error:  # not UTF-8, or JSON of something else
            raise UserError(
                f"'{self.record_file}' cannot be read: it is not that of a {self.noun}: {error}.{self.advice()}"
            ) from error

    def advice(self) -> str:
        """What to do about a record that cannot be read, after a space."""
        return ""

    def update_record(self, **changes: Any) -> None:
        """Write some fields of the record; the others stay. A record that cannot be read is not written over."""
        self.read_record()
        record.update(self.record_file, self.form, changes)


class RunFolder(RecordedFolder[RunRecord]):
    """
    config.yaml       the resolved config
    run.json          command, overrides, seed, arm, budget, size of the model, versions, git state, times, peak memory,
                      status, the best figures and the last; those of the test split, with their intervals; with
                      ``init``, where its first weights came from. Numbers that are NaN or infinite are null
    data.json         what was fitted to the data: vocabularies, scales
    graph.svg         the drawing of the model's graph
    metrics.jsonl     a line of metrics every ``log_every`` steps and at every validation
    samples.jsonl     the model's predictions for some examples, at every validation
    test_examples.npz the lengths and statistics of the single examples of the test split (example_records.py)
    figures/          learning curves, throughput, and figures of the best checkpoint
    profile/          with ``trainer.profiler``: its reports
    checkpoints/      last.safetensors, to resume from, previous.safetensors, the one before it, and best.safetensors,
                      with the best validation by ``training.monitor``; before format 3, they were .pt files
    log.txt           the screen output
    .lock             the lock of the process that trains the run, with its number and host
    """

    noun, form = "run", RunRecord

    def __init__(self, path: Path) -> None:
        super().__init__(path, "run.json", "checkpoints", "figures")
        self.checkpoints, self.figures = self.inner
        self.config = self.mark = path / "config.yaml"
        self.data = path / "data.json"
        self.graph = path / "graph.svg"
        self.metrics = path / "metrics.jsonl"
        self.samples = path / "samples.jsonl"
        self.test_examples = path / "test_examples.npz"
        self.log = path / "log.txt"
        names = ("last", "previous", "best")
        self.last, self.previous, self.best = (self.checkpoints / f"{name}{SUFFIX}" for name in names)

    def make(self) -> None:
        """Make the folder and those inside it, unless they exist."""
        try:
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            self.figures.mkdir(exist_ok=True)
        except OSError as error:
            raise UserError(f"cannot make the run's folder '{self.path}': {error.strerror}.") from error

    def place(self, name: str) -> Path:
        """The path of a further folder inside, to be written to."""
        return check_links(self.path / name, self.path)

    def newest(self) -> Path:
        """The path of the run's last checkpoint, which has to exist."""
        found = [path for path in self.saved() if path.stem != self.best.stem]
        if not found:
            raise UserError(
                f"there is no checkpoint in '{self.path}': it was stopped before the first. "
                f"Train it with: python train.py resume={self.path}"
            )
        return found[0]

    def saved(self) -> list[Path]:
        """The checkpoints from which the run can go on, the one to take first in front."""
        paths = (self.last, self.previous, self.best)
        return [path for each in paths for path in (each, each.with_suffix(OLD_SUFFIX)) if path.is_file()]

    def chosen(self) -> Path:
        """The path of the checkpoint to use by default: the best one if the run was validated, otherwise the last."""
        return best if (best := present(self.best)).is_file() else self.newest()

    def remove_old_checkpoints(self) -> None:
        """Remove the checkpoints of an earlier version in whose places are those of this version."""
        for paths in ((self.best,), (self.last, self.previous)):
            if all(path.is_file() for path in paths):
                for path in paths:
                    path.with_suffix(OLD_SUFFIX).unlink(missing_ok=True)

    def advice(self) -> str:
        again = f"Resume the run, which writes it anew (python train.py resume={self.path})"
        return f" {again}, or put it back from a copy."

    def ended(self) -> bool:
        """Whether the run has come to its end. Without a readable run.json this is not known."""
        try:
            return self.read_record().status in ("finished", "pruned")
        except UserError:
            return False

    def mend_record(self) -> str | None:
        """Set a run.json aside that cannot be read. Returns what was wrong, in a sentence; None if nothing was."""
        file = self.record_file
        if not file.is_file():
            return f"'{file}' is missing: it is written anew."
        try:
            self.read_record()
        except UserError:
            return f"'{file}' cannot be read: it is set aside as '{set_aside(file).name}' and written anew."
        return None

    def clean(self) -> None:
        super().clean()
        for incomplete in self.checkpoints.glob(f".*{OLD_SUFFIX}.*"):  # as earlier versions named them
            incomplete.unlink()


def present(checkpoint: Path) -> Path:
    """The file that a checkpoint's path means: it may have been written before format 3, or be named as before it."""
    other = {SUFFIX: OLD_SUFFIX, OLD_SUFFIX: SUFFIX}.get(checkpoint.suffix)
    found = checkpoint if other is None or checkpoint.exists() else checkpoint.with_suffix(other)
    return found if found.exists() else checkpoint


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that another one can take its place. Returns its new path."""
    aside = path.with_name(path.name + DAMAGED)
    os.replace(path, aside)
    return aside


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a .jsonl file that have a step. Other lines, such as one that a killed process left incomplete,
    are skipped."""
    if path.is_file():
        yield from (row for line in path.read_bytes().split(b"\n") if (row := parsed(line)) is not None)


def last_lines(path: Path) -> list[dict[str, Any]]:
    """The last lines of a .jsonl file, without one that is being written. Some hundreds of lines are read."""
    if not path.is_file():
        return []
    with path.open("rb") as file:
        start = max(0, file.seek(0, os.SEEK_END) - TAIL)
        file.seek(start)
        lines = file.read().split(b"\n")[1 if start else 0 : -1]
    return [row for line in lines if (row := parsed(line)) is not None]


def read_metrics(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of metrics.jsonl: numbers by name, None for one that was NaN or infinite."""
    yield from (row for row in read_lines(path) if all(isinstance(v, int | float | None) for v in row.values()))


def parsed(line: bytes) -> dict[str, Any] | None:
    """The object of one line; None if the line is not one that a run writes."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):  # neither UTF-8 nor JSON
        return None
    return row if isinstance(row, dict) and type(row.get("step")) is int else None


def cut_lines(path: Path, step: int) -> str | None:
    """Remove the lines of later steps from a .jsonl file: a resumed run writes them again.

    Lines that no run writes stay where they are; they are returned in a sentence. An incomplete last line is removed.
    """
    if not path.is_file():
        return None
    kept, foreign = [], []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], start=1):
        row = parsed(line)
        if row is None:
            foreign.append(number)
        if row is None or row["step"] <= step:
            kept.append(line + b"\n")
    write_bytes(path, b"".join(kept))
    if not foreign:
        return None
    which = f"line {foreign[0]} is" if len(foreign) == 1 else f"lines {', '.join(map(str, foreign[:5]))} are"
    return f"'{path}': {which} not of this run, and skipped."
