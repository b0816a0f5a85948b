"""The folder of a sweep, with a run folder for every trial, and its file sweep.json."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from composer.core.problems import UserError
from composer.core.storage.folder_names import name_problem
from composer.runs.folder import RecordedFolder, RunFolder
from composer.runs.record import SweepRecord, now
from composer.runs.staging import create_folder, is_free

#: Incremented when the meaning of sweep.json changes.
FORMAT = 1


class SweepFolder(RecordedFolder[SweepRecord]):
    """
    sweep.json      what is swept: the kind, the arguments of the command line, the judged metric, status and times
    <number>_.../   a run folder for every trial
    study.db        the trials of a search, in Optuna's format
    results.json    the results of all trials, at the end
    report.html     their comparison, at the end
    """

    noun, form = "sweep", SweepRecord

    def __init__(self, path: Path) -> None:
        super().__init__(path, "sweep.json")
        self.mark = self.record_file
        self.study = path / "study.db"
        self.results = path / "results.json"
        self.report = path / "report.html"

    def other_kind(self) -> str:
        return f" It is a run: python train.py resume={self.path}" if RunFolder(self.path).config.is_file() else ""

    @classmethod
    def unfinished(cls, runs: Path, arguments: Sequence[str]) -> SweepFolder | None:
        """The newest sweep of the same arguments that has not come to its end."""
        found = [cls(file.parent) for file in sorted(runs.glob("*/sweep.json"), reverse=True)]
        return next((folder for folder in found if folder.waits_for(arguments)), None)

    @classmethod
    def create(cls, path: Path, plan: Mapping[str, Any]) -> SweepFolder:
        """Make the folder of a new sweep, with sweep.json in it. A number is added to a name that is already used."""
        names = (path if i == 1 else path.with_name(f"{path.name}_{i}") for i in count(1))
        fields = {"format": FORMAT, **plan, "began": now(), "status": "running"}
        place, lock = create_folder(filter(is_free, names), lambda folder: cls(folder).update_record(**fields))
        lock.close()
        return cls(place)

    def read_record(self) -> SweepRecord:
        found = super().read_record()
        if self.record_file.is_file() and found.format != FORMAT:
            raise UserError(f"'{self.record_file}' is of format {found.format}; this version reads format {FORMAT}.")
        return found

    def waits_for(self, arguments: Sequence[str]) -> bool:
        """Whether the sweep is one of these arguments that has not come to its end."""
        try:
            record = self.read_record()
        except UserError:  # the sweep of another version, or a broken file: not this one
            return False
        return record.arguments == list(arguments) and record.status != "finished"

    def run(self, trial: str) -> RunFolder:
        """The folder of the trial with this name."""
        if (problem := name_problem(trial)) is not None:  # sweep.json may be somebody else's
            raise UserError(f"'{self.record_file}': the name of the trial {trial!r}: {problem}")
        return RunFolder(self.path / trial)

    def runs(self) -> Iterator[RunFolder]:
        """The run folders of the trials that were started, by their numbers."""
        found = [path.parent for path in self.path.glob("*/run.json")]
        yield from (RunFolder(path) for path in sorted(found, key=number))


def number(path: Path) -> tuple[bool, int, str]:
    """The number that begins a trial's folder, as a key to sort by; folders of another form come last."""
    first = path.name.partition("_")[0]
    return not first.isdecimal(), int(first) if first.isdecimal() else 0, path.name
