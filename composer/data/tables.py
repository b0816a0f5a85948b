"""Tables in CSV, TSV, JSON and Parquet files, and in pairs of parallel text files, read one record at a time."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from composer.core.problems import Invalid, UserError, did_you_mean, listed
from composer.data import json_values, parquet
from composer.data.bad_rows import BadRow, MissingValue
from composer.data.files import Line, bare, lines
from composer.data.layout import Layout, Note, Numerals
from composer.data.layout.cutting import blank
from composer.data.layout.numerals import DOUBTFUL, unfit
from composer.data.reading import Reading

#: A column by its name, or by its number counted from 1.
Column = str | int
Columns = list[str] | list[int]


class TableRow(NamedTuple):
    file: Path
    line: int  # the first line of the record, or its row number in a file without lines; from 1. 0: the whole file
    values: dict[str, Any]
    numerals: Numerals = Numerals(missing=())  # how the cells write numbers and missing values

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)


class Table:
    """Reads files as records that hold some columns under names of our own.

    columns: our name of a column -> its name or number in the file
    keys: our name of a column -> the YAML key that chose it, for messages
    header: whether the first record holds names; None: if a column is chosen by its name, or else looked up
    encoding: None: looked up
    reading: instead of header and encoding, how the files of the source are read
    parallel: the suffix of the files whose lines go with the lines of the files that are read: with 'en', train.de and
        train.en are the columns 1, or 'de', and 2, or 'en'
    """

    def __init__(
        self, columns: Mapping[str, Column], keys: Mapping[str, str] | None = None, *, header: bool | None = None,
        encoding: str | None = None, reading: Reading | None = None, parallel: str | None = None,
    ) -> None:  # fmt: skip
        self.columns = dict(columns)
        self.keys = keys or {name: name for name in columns}
        self.reading = reading or Reading(encoding=encoding, header=header)
        self.parallel = parallel

    def without(self, names: Iterable[str]) -> Table:
        """The same table without these columns."""
        left = {name: column for name, column in self.columns.items() if name not in set(names)}
        return Table(left, self.keys, reading=self.reading, parallel=self.parallel)

    def read(self, path: Path) -> Iterator[TableRow]:
        if self.parallel is not None:
            return self._read_parallel(path, self.parallel)
        form = self.reading.layout(path).form
        if form == "parquet":
            return self._read_parquet(path)
        return self._read_delimited(path) if form == "delimited" else self._read_json(path)

    def every_column(self, path: Path) -> Columns:
        """All columns of a file: their names, or their numbers where the file has no names."""
        layout = self.reading.layout(path)
        if layout.form == "parquet":
            return parquet.column_names(path)
        if layout.form != "delimited":
            return [str(key) for key in next(self._objects(path, layout))[1]]
        first = next(self._records(path, layout))[1][: layout.width]
        return first if self._header(path, layout) else list(range(1, len(first) + 1))

    def _header(self, path: Path, layout: Layout) -> bool:
        """Whether the first record holds names: as the config says, or else as the columns or the file itself say."""
        if self.reading.header is not None:
            return self.reading.header
        if any(isinstance(column, str) for column in self.columns.values()):
            return True
        if layout.header and self.columns:
            note = Note("the first line holds names of columns, not values (data.header says otherwise)")
            self.reading.note(path, note)
        return layout.header

    def _read_delimited(self, path: Path) -> Iterator[TableRow]:
        layout = self.reading.layout(path)
        header = self._header(path, layout)
        where: dict[str, int] | None = None
        width = 0
        for number, cells in self._records(path, layout):
            if blank(cells):
                self.reading.note(path, Note("the row has only empty cells, so it is left out", number))
                continue
            if where is None:
                width = len(cells)
                cells = cells[: layout.width]
                where = {name: self._find(name, cells, path, header) for name in self.columns}
                if header:
                    continue
            if len(cells) != width:
                message = f"{path}:{number}: has {len(cells)} columns, but the first line has {width}."
                self.reading.bad.met(BadRow(f"{message} {_ragged(layout)}"))
                continue
            yield TableRow(path, number, {name: cells[place] for name, place in where.items()}, layout.numerals)

    def _records(self, path: Path, layout: Layout) -> Iterator[tuple[int, list[str]]]:
        """The first line and the cells of each record."""
        cutting, source = layout.cutting, lines(path, layout.encoding, self.reading.bad)
        if cutting.quoted:
            return self._quoted(source, path, layout)
        kept = (
            line for line in source if line.text and not (cutting.comment and line.text.startswith(cutting.comment))
        )
        return ((line.number, cutting.cells(line.text)) for line in kept)

    def _quoted(self, source: Iterator[Line], path: Path, layout: Layout) -> Iterator[tuple[int, list[str]]]:
        """The records of a file with quotes. A line inside a cell in quotes is never a comment."""
        start = 0  # the number of the record's first line; 0 before it is read

        def fed() -> Iterator[str]:
            nonlocal start
            for line in source:
                if start == 0 and layout.cutting.comment and line.text.startswith(layout.cutting.comment):
                    continue
                start = start or line.number
                yield f"{line.text}\n"

        reader = csv.reader(fed(), delimiter=layout.cutting.delimiter, strict=True)
        while True:
            start = 0
            try:
                cells = next(reader, None)
            except csv.Error as error:
                message = f"{path}:{start}: is not CSV: {error}. Check the quotes of that line."
                self.reading.bad.met(BadRow(message))
                continue
            if cells is None:
                return
            if cells:
                yield start, cells

    def _find(self, name: str, first: list[str], path: Path, header: bool) -> int:
        """The place of a column, counted from 0."""
        column = self.columns[name]
        if isinstance(column, int):
            if not 1 <= column <= len(first):
                message = f"there is no column {column}: '{path}' has {len(first)}, from 1 on."
                more = f" `python -m composer data {path}` shows what the file holds." * (len(first) == 1)
                raise Invalid(self.keys[name], message + more)
            if header:
                self.reading.named(column, first[column - 1])
            return column - 1
        if column not in first:
            has = "no column names" if not header else f"the columns {listed(first)}"
            raise Invalid(
                self.keys[name],
                f"there is no column '{column}' in '{path}'.{did_you_mean(column, first)}  (has: {has})",
            )
        return first.index(column)

    def _objects(self, path: Path, layout: Layout) -> Iterator[tuple[int, dict[str, Any]]]:
        comment = layout.cutting.comment
        source = lines(path, layout.encoding, self.reading.bad)
        kept = (line for line in source if not (comment and line.text.startswith(comment)))
        read = json_values.over_lines if layout.form == "json_values" else json_values.one_a_line
        return read(kept, path, self.reading.bad)

    def _read_json(self, path: Path) -> Iterator[TableRow]:
        first, layout = True, self.reading.layout(path)
        for number, found in self._objects(path, layout):
            try:
                values = {name: self._cell(name, found, path, number) for name in self.columns}
            except Invalid as error:
                if first:
                    raise
                self.reading.bad.met(BadRow(f"{path}:{number}: {error.message} Earlier lines have it."))
                continue
            first = False
            yield TableRow(path, number, values, layout.numerals)

    def _cell(self, name: str, found: dict[str, Any], path: Path, number: int) -> Any:
        column = self.columns[name]
        if isinstance(column, int):
            raise Invalid(self.keys[name], f"'{path}' has names, not numbers: {listed(found)}.")
        if column not in found:
            near = did_you_mean(column, found)
            message = f"'{path}' has no '{column}' in line {number}.{near}  (has: {listed(found)})"
            raise Invalid(self.keys[name], message)
        return found[column]

    def _read_parquet(self, path: Path) -> Iterator[TableRow]:
        names = parquet.column_names(path)
        where = {name: names[self._find(name, names, path, True)] for name in self.columns}
        for number, cells in parquet.rows(path, list(dict.fromkeys(where.values()))):
            values = {name: cells[column] for name, column in where.items()}
            yield TableRow(path, number, values, self.reading.layout(path).numerals)

    def beside(self, path: Path) -> list[Path]:
        """Further files that are read with this file: its partner, where files are parallel."""
        return [] if self.parallel is None else [_partner(path, self.parallel)]

    def _read_parallel(self, path: Path, suffix: str) -> Iterator[TableRow]:
        """The lines of a file and of its partner as two columns, named by the suffixes of the files."""
        partner = _partner(path, suffix)
        if not partner.is_file():
            raise Invalid("parallel", f"there is no file '{partner}' with the lines that go with those of '{path}'.")
        if partner == path:
            raise Invalid("path", f"takes '{path}', too, which is read beside another file. Name the others alone.")
        names = [bare(path).suffix[1:], bare(partner).suffix[1:]]
        where = {name: self._find(name, names, path, True) for name in self.columns}
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
