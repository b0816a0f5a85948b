"""How one source reads its files: what the config says, the layout of every file, and the rows that are left out."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from composer.data.files import json_values
from composer.data.files import lines as files
from composer.data.files.bad_rows import BadRow, BadRows
from composer.data.files.lines import Line, kind_of
from composer.data.files.new_files import NewFiles
from composer.data.layout import Given, Layout, Note, encoding_of, layout_of


@dataclass(kw_only=True, eq=False)
class Reading(Given):
    """The keys of the config that concern files, and what was found in the files themselves.

    header: whether the first record holds the names of the columns; None: looked up
    skip_bad: whether rows that cannot be read are left out; otherwise they are errors. None: the config has no such key
    """

    header: bool | None = None
    skip_bad: bool | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.bad = BadRows(bool(self.skip_bad), offered=self.skip_bad is not None)
        self.new_files = NewFiles()  # what is known of the files, where they are for a trained model
        self._layouts: dict[Path, Layout] = {}
        self._names: dict[str | int, str] = {}  # of columns that the config may name in another way, e.g. by a number
        self._notes: dict[str, dict[str, None]] = {}  # note -> the places where it holds

    def layout(self, path: Path) -> Layout:
        """The layout of a table, which is looked up once."""
        if path not in self._layouts:
            found, known = layout_of(path, self), self.new_files.delimiter(kind_of(path))
            if found.form == "delimited" and self.delimiter is None and known not in (None, found.cutting.name):
                found = layout_of(path, replace(self, delimiter=known))
            self._layouts[path] = found
            self.note(path, *found.notes)
        return self._layouts[path]

    def record_lines(self, path: Path) -> Iterator[Line]:
        """The lines of a table that are neither empty nor comments."""
        layout = self.layout(path)
        found = files.lines(path, layout.encoding, self.bad)
        return (line for line in found if line.text and not layout.cutting.is_comment(line.text))

    def records(self, path: Path) -> Iterator[tuple[int, list[Any]]]:
        """The first line and the cells of each record of a table."""
        layout = self.layout(path)
        if layout.form == "json_lists":
            return json_values.records(self.record_lines(path), path, self.bad, list, spread=layout.spread)

        def failed(line: int, error: csv.Error) -> None:
            self.bad.met(BadRow(f"{path}:{line}: is not CSV: {error}. Check the quotes of that line."))

        return layout.cutting.records(files.lines(path, layout.encoding, self.bad), failed)

    def objects(self, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
        """The first line and the names with their values, of each object in a JSON file."""
        spread = self.layout(path).spread
        return json_values.records(self.record_lines(path), path, self.bad, dict, spread=spread)

    def _encoding(self, path: Path) -> str:
        """The encoding of a file that is no table."""
        encoding, notes = encoding_of(path, self.encoding)
        self.note(path, *notes)
        return encoding

    def lines(self, path: Path) -> Iterator[Line]:
        """The lines of a file that is no table."""
        return files.lines(path, self._encoding(path), self.bad)

    def characters(self, path: Path) -> Iterator[str]:
        """The running text of a file, in pieces."""
        return files.characters(path, self._encoding(path))

    def note(self, path: Path, *notes: Note) -> None:
        """Remember what was found in a file and should be said once."""
        for note in notes:
            place = f"{path}:{note.line}" if note.line else str(path)
            self._notes.setdefault(note.text, {})[place] = None

    def named(self, column: str | int, name: str) -> None:
        """Remember the name of a column that the config may name in another way, such as by its number."""
        self._names.setdefault(column, name)

    def name(self, column: str | int) -> str | int:
        """The name of a column, however the config names it; its number where it has no name, or no file was read."""
        return self._names.get(column, column)

    def found(self) -> dict[str, Any]:
        """The notes, the bad rows and the names of columns so far, as plain data."""
        names = [list(pair) for pair in self._names.items()]
        return {"notes": self._notes, "bad": self.bad.reasons, "names": names}

    def recall(self, found: Mapping[str, Any]) -> None:
        """Take what ``found`` returned in an earlier run."""
        for note, places in found["notes"].items():
            self._notes.setdefault(note, {}).update(places)
        self.bad.reasons.update(found["bad"])
        self._names.update(found["names"])

    @property
    def remarks(self) -> list[str]:
        """What was found in the files and the config does not say, then the rows that were left out."""
        found = []
        for note, places in self._notes.items():
            more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
            found.append(f"{next(iter(places))}{more}: {note}.")
        return found + self.bad.remarks
