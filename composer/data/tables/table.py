"""Tables in CSV, TSV, JSON and Parquet files, and in pairs of parallel text files, read one record at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from composer.core.problems import Invalid, UserError, did_you_mean, listed
from composer.data.files.bad_rows import BadRow, MissingValue
from composer.data.files.lines import bare, kind_of
from composer.data.files.new_files import Recognise, TrainedFile
from composer.data.layout import Layout, Note, Numerals
from composer.data.layout.cutting import blank
from composer.data.layout.numerals import DOUBTFUL, unfit
from composer.data.tables import parquet
from composer.data.tables.reading import Reading

#: A column by its name, or by its number counted from 1.
Column = str | int
Columns = list[str] | list[int]

Found = TypeVar("Found")

#: The number of lines that tell whether a file has labels.
LOOKED = 10_000


class TableRow(NamedTuple):
    file: Path
    line: int  # the first line of the record, or its row number in a file without lines; from 1. 0: the whole file
    values: dict[str, Any]
    numerals: Numerals = Numerals(missing=())  # how the cells write numbers and missing values

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)


@dataclass(frozen=True)
class Reader(ABC):
    """How a file becomes records, which hold some columns under names of our own.

    columns: our name of a column -> its name or number in the file
    keys: our name of a column -> the YAML key that chose it, for messages; our name where there is none
    reading: how the files of the source are read
    """

    columns: Mapping[str, Column] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    reading: Reading = field(default_factory=Reading)

    @abstractmethod
    def read(self, path: Path) -> Iterator[TableRow]:
        """The records of a file."""

    def without(self, names: Mapping[str, Recognise]) -> Self:
        """The same reader without the columns of these names of our own, which may be missing from the files."""
        return replace(self, columns={name: column for name, column in self.columns.items() if name not in names})

    def trained(self, path: Path) -> TrainedFile | None:
        """How a file of the training is written, for files that may lack columns; None: nothing needs to be known."""
        return None

    def beside(self, path: Path) -> list[Path]:
        """Further files that are read with this file."""
        return []

    def wrong(self, name: str, message: str) -> Invalid:
        """The error for a column that cannot be read, by our name of it."""
        return Invalid(self.keys.get(name, name), message)


@dataclass(frozen=True)
class Table(Reader):
    """
    parallel: the suffix of the files whose lines go with the lines of the files that are read: with 'en', train.de and
        train.en are the columns 1, or 'de', and 2, or 'en'
    unread: columns that were read in training, and may be missing, with what tells whether a cell may be one of theirs
    """

    parallel: str | None = None
    unread: Mapping[Column, Recognise] = field(default_factory=dict)

    def without(self, names: Mapping[str, Recognise]) -> Self:
        unread = {self.columns[name]: recognise for name, recognise in names.items() if name in self.columns}
        return replace(super().without(names), unread=unread)

    def trained(self, path: Path) -> TrainedFile | None:
        """How a file of the training is written, for files that may lack columns; None where names tell it."""
        layout = self.reading.layout(path)
        if self.parallel is not None or layout.form != "delimited":
            return None
        names = self.every_column(path)
        named = [str(name) for name in names] if self._header(path) else None
        return TrainedFile(kind_of(path), layout.cutting.name, len(names), named, dict(self.columns))

    def read(self, path: Path) -> Iterator[TableRow]:
        if self.parallel is not None:
            return self._read_parallel(path, self.parallel)
        form = self.reading.layout(path).form
        if form == "parquet":
            return self._read_parquet(path)
        return self._read_json(path) if form == "json_objects" else self._read_cells(path)

    def every_column(self, path: Path) -> Columns:
        """All columns of a file: their names, or their numbers where the file has no names."""
        form = self.reading.layout(path).form
        if form == "parquet":
            return parquet.column_names(path)
        if form == "json_objects":
            found = self._first(path, self.reading.objects(path))
            for name in (name for name, value in found.items() if isinstance(value, dict)):
                self.reading.note(path, Note(f"column '{name}' holds objects, which no field reads, and is left out"))
            return [name for name, value in found.items() if not isinstance(value, dict)]
        first = self._first_cells(path)
        return first if self._header(path) else list(range(1, len(first) + 1))

    def _first_cells(self, path: Path) -> list[Any]:
        every = ((line, cells) for line, cells in self.reading.records(path) if not blank(cells))
        return self._first(path, every)[: self.reading.layout(path).width]

    def _first(self, path: Path, found: Iterator[tuple[int, Found]]) -> Found:
        """The first record of a file; where none can be read, an error with the first reason."""
        for _, record in found:
            return record
        reason = next((reason for reason in self.reading.bad.reasons if reason.startswith(str(path))), None)
        raise UserError(reason or f"{path}: holds no row. Give a file with at least one.")

    def _header(self, path: Path) -> bool:
        """Whether the first record holds names: as the config says, or else as the columns or the file itself say."""
        if self.reading.header is not None:
            return self.reading.header
        if any(isinstance(column, str) for column in self.columns.values()):
            return True
        names = self.reading.new_files.names
        found = self.reading.layout(path).header or (bool(names) and set(self._first_cells(path)) <= set(names))
        if found and self.columns:
            note = Note("the first line holds names of columns, not values (data.header says otherwise)")
            self.reading.note(path, note)
        return found

    def _read_cells(self, path: Path) -> Iterator[TableRow]:
        layout = self.reading.layout(path)
        if self._whole_lines(path):
            for line in self.reading.record_lines(path):
                yield TableRow(path, line.number, dict.fromkeys(self.columns, line.text), layout.numerals)
            return
        header = self._header(path)
        where: dict[str, int] | None = None
        width = 0
        for number, cells in self.reading.records(path):
            if blank(cells):
                self.reading.note(path, Note("the row has only empty cells, so it is left out", number))
                continue
            if where is None:
                width = len(cells)
                where = self._places(cells[: layout.width], path, header)
                if header:
                    continue
            if len(cells) != width:
                message = f"{path}:{number}: has {len(cells)} columns, but the first line has {width}."
                self.reading.bad.met(BadRow(f"{message} {_ragged(layout)}"))
                continue
            yield TableRow(path, number, {name: cells[place] for name, place in where.items()}, layout.numerals)

    def _whole_lines(self, path: Path) -> bool:
        """Whether lines that training cut at their first white space are whole texts here: they have no label."""
        if self.reading.layout(path).cutting.delimiter != "first_space" or 1 not in self.unread:
            return False
        looked = islice(self.reading.record_lines(path), LOOKED)
        texts = (line.text for line in looked if line.text.strip())
        labelled = self.reading.new_files.lines_have_labels(texts, self.unread[1], path)
        found = "is taken for a label, which is not read" if labelled else "is no label, and belongs to the text"
        note = Note(f"the first word of every line {found} (--targets and --no-targets say otherwise)")
        self.reading.note(path, note)
        return not labelled

    def _places(self, first: list[str], path: Path, header: bool) -> dict[str, int]:
        """The place of every column, counted from 0, in a file with this first record."""
        numbered = {name: column for name, column in self.columns.items() if isinstance(column, int)}
        unread = [column for column in self.unread if isinstance(column, int)]
        columns = {**self.columns, **self.reading.new_files.numbers(numbered, unread, first, header, path)}
        return {name: self._find(name, column, first, path, header) for name, column in columns.items()}

    def _find(self, name: str, column: Column, first: list[str], path: Path, header: bool) -> int:
        """The place of a column, counted from 0."""
        if isinstance(column, int):
            if not 1 <= column <= len(first):
                message = f"there is no column {column}: '{path}' has {len(first)}, from 1 on."
                more = f" `python -m composer data {path}` shows what the file holds." * (len(first) == 1)
                raise self.wrong(name, message + more)
            if header:
                self.reading.named(column, first[column - 1])
            return column - 1
        if column not in first:
            has = "no column names" if not header else f"the columns {listed(first)}"
            message = f"there is no column '{column}' in '{path}'.{did_you_mean(column, first)}  (has: {has})"
            raise self.wrong(name, message)
        return first.index(column)

    def _read_json(self, path: Path) -> Iterator[TableRow]:
        first, numerals = True, self.reading.layout(path).numerals
        for number, found in self.reading.objects(path):
            try:
                values = {name: self._cell(name, found, path, number) for name in self.columns}
            except Invalid as error:
                if first:
                    raise
                self.reading.bad.met(BadRow(f"{path}:{number}: {error.message} Earlier lines have it."))
                continue
            first = False
            yield TableRow(path, number, values, numerals)

    def _cell(self, name: str, found: dict[str, Any], path: Path, number: int) -> Any:
        column = self.columns[name]
        if isinstance(column, int):
            raise self.wrong(name, f"'{path}' has names, not numbers: {listed(found)}.")
        if column not in found:
            near = did_you_mean(column, found)
            message = f"'{path}' has no '{column}' in line {number}.{near}  (has: {listed(found)})"
            raise self.wrong(name, message)
        return found[column]

    def _read_parquet(self, path: Path) -> Iterator[TableRow]:
        names = parquet.column_names(path)
        wanted = [names[self._find(name, column, names, path, True)] for name, column in self.columns.items()]
        for number, cells in parquet.rows(path, wanted):
            values = dict(zip(self.columns, cells, strict=True))
            yield TableRow(path, number, values, self.reading.layout(path).numerals)

    def beside(self, path: Path) -> list[Path]:
        """Further files that are read with this file: its partner, where files are parallel."""
        return [] if self.parallel is None else [_partner(path, self.parallel)]

    def _read_parallel(self, path: Path, suffix: str) -> Iterator[TableRow]:
        """The lines of a file and of its partner as two columns, named by the suffixes of the files."""
        partner = _partner(path, suffix)
        if self.unread and all(column in (1, bare(path).suffix[1:]) for column in self.columns.values()):
            for line in self.reading.lines(path):
                yield TableRow(path, line.number, dict.fromkeys(self.columns, line.text))
            return
        if not partner.is_file():
            raise Invalid("parallel", f"there is no file '{partner}' with the lines that go with those of '{path}'.")
        if partner == path:
            raise Invalid("path", f"takes '{path}', too, which is read beside another file. Name the others alone.")
        names = [bare(path).suffix[1:], bare(partner).suffix[1:]]
        where = {name: self._find(name, column, names, path, True) for name, column in self.columns.items()}
        for pair in zip_longest(self.reading.lines(path), self.reading.lines(partner)):
            if None in pair:
                longer, line = (path, pair[0]) if pair[1] is None else (partner, pair[1])
                message = f"{longer}:{line.number}: the other file of '{path}' and '{partner}' has ended."
                raise UserError(f"{message} Parallel files need equally many lines.")
            cells = [line.text for line in pair]
            yield TableRow(path, pair[0].number, {name: cells[place] for name, place in where.items()})


def _partner(path: Path, suffix: str) -> Path:
    """The parallel file: train.en of train.de, and train.en.gz of train.de.gz."""
    if "/" in suffix or not suffix.strip("."):
        raise Invalid("parallel", f"expected the ending of the other file, e.g. en, found '{suffix}'.")
    partner = bare(path).with_suffix(f".{suffix.lstrip('.')}")
    return partner.with_name(partner.name + path.suffix) if bare(path) != path else partner


def _ragged(layout: Layout) -> str:
    """What to do about a record that has more or fewer cells than the first one."""
    if layout.cutting.quoted:
        return "Mend the line; a delimiter or line break inside a cell needs quotes around the cell."
    named = layout.cutting.name
    return f"Mend the line; if a cell in quotes may hold a {named}, set data.quotes=true."


def missing(record: TableRow, name: str) -> bool:
    """Whether a cell of a column of numbers holds no value."""
    return record.numerals.missing_number(record.values[name])


def number(record: TableRow, name: str, column: object, todo: str = "Mend the cell.") -> float:
    """A cell as a number.

    todo: what to do about a missing value
    """
    value, place = record.values[name], f"{record.place}: column '{column}'"
    if missing(record, name):
        raise MissingValue(f"{place} holds {value!r}: the value is missing. {todo}")
    try:
        found = record.numerals.number(value)
    except (TypeError, ValueError) as error:
        raise BadRow(f"{place} holds {value!r}, which is no number. {_no_number(value, record.numerals)}") from error
    if (reason := unfit(found)) is not None:
        raise BadRow(f"{place} holds {value!r}. {reason}")
    return found


def _no_number(cell: Any, numerals: Numerals) -> str:
    """What to do about a cell that is no number."""
    other = Numerals("," if numerals.decimal == "." else ".")
    if isinstance(cell, str) and DOUBTFUL.fullmatch(cell.strip()):
        mark = "comma" if numerals.decimal == "." else "point"
        return f"Its {mark} may stand before decimals (data.decimal='{other.decimal}') or thousands (leave it out)."
    if other.is_number(cell):
        return f"Set data.decimal='{other.decimal}', if that is the decimal mark."
    return "Mend the cell, or leave the column out; a word for a missing value is named by data.missing."


def text(record: TableRow, name: str, column: object) -> str:
    """A cell as text."""
    value = record.values[name]
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise BadRow(f"{record.place}: column '{column}' holds {value!r}, which is no text. Mend it.")
