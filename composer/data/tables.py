"""Tables in CSV, TSV, JSON lines and Parquet files, read one record at a time."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from composer.core.problems import Invalid, UserError, did_you_mean, listed
from composer.data import parquet
from composer.data.files import Line, kind_of, lines

#: A column by its name, or by its number counted from 1.
Column = str | int
Columns = list[str] | list[int]


class TableRow(NamedTuple):
    file: Path
    line: int  # the first line of the record, or its row number in a file without lines; from 1. 0: the whole file
    values: dict[str, Any]

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)


class Table:
    """Reads files as records that hold some columns under names of our own.

    columns: our name of a column -> its name or number in the file
    keys: our name of a column -> the YAML key that chose it, for messages
    """

    def __init__(
        self, columns: Mapping[str, Column], keys: Mapping[str, str] | None = None, *, header: bool | None = None,
        encoding: str = "utf-8",
    ) -> None:  # fmt: skip
        self.columns = dict(columns)
        self.keys = keys or {name: name for name in columns}
        self.header = any(isinstance(c, str) for c in columns.values()) if header is None else header
        self.encoding = encoding

    def without(self, names: Iterable[str]) -> Table:
        """The same table without these columns."""
        left = {name: column for name, column in self.columns.items() if name not in set(names)}
        return Table(left, keys=self.keys, header=self.header, encoding=self.encoding)

    def read(self, path: Path) -> Iterator[TableRow]:
        if kind_of(path) in ("jsonl", "ndjson", "json"):
            yield from self._read_json(path)
            return
        if kind_of(path) == "parquet":
            yield from self._read_parquet(path)
            return
        where: dict[str, int] | None = None
        width = 0
        for number, cells in self._cells(path):
            if where is None:
                width = len(cells)
                where = {name: self._find(name, cells, path) for name in self.columns}
                if self.header:
                    continue
            if len(cells) != width:
                raise UserError(
                    f"{path}:{number}: has {len(cells)} columns, but the first line has {width}. "
                    "Mend the line; a comma, tab or line break inside a CSV cell needs quotes around the cell."
                )
            yield TableRow(path, number, {name: cells[index] for name, index in where.items()})

    def names(self, path: Path) -> list[str]:
        """The names of all columns: from the header, the schema, or the keys of the first JSON record."""
        if kind_of(path) in ("jsonl", "ndjson", "json"):
            for number, text in lines(path, self.encoding):
                if text.strip():
                    return [str(key) for key in self._object(text, path, number)]
        if kind_of(path) == "parquet":
            return parquet.column_names(path)
        return next(self._cells(path))[1]

    def _cells(self, path: Path) -> Iterator[tuple[int, list[str]]]:
        """The first line and the cells of each record. Quotes have a meaning in CSV only, not in TSV."""
        source = lines(path, self.encoding)
        if kind_of(path) != "csv":
            return ((line.number, line.text.split("\t")) for line in source if line.text)
        return self._quoted(source, path)

    def _quoted(self, source: Iterator[Line], path: Path) -> Iterator[tuple[int, list[str]]]:
        reader = csv.reader((f"{line.text}\n" for line in source), strict=True)
        start = 1
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise UserError(f"{path}:{start}: is not CSV: {error}. Check the quotes of that line.") from error
            if cells is None:
                return
            if cells:
                yield start, cells
            start = reader.line_num + 1

    def _find(self, name: str, first: list[str], path: Path) -> int:
        column = self.columns[name]
        if isinstance(column, int):
            if not 1 <= column <= len(first):
                raise Invalid(self.keys[name], f"there is no column {column}: '{path}' has {len(first)}, from 1 on.")
            return column - 1
        if column not in first:
            has = "no column names" if not self.header else f"the columns {listed(first)}"
            raise Invalid(
                self.keys[name],
                f"there is no column '{column}' in '{path}'.{did_you_mean(column, first)}  (has: {has})",
            )
        return first.index(column)

    def _read_json(self, path: Path) -> Iterator[TableRow]:
        for number, text in lines(path, self.encoding):
            if not text.strip():
                continue
            found = self._object(text, path, number)
            values = {}
            for name, column in self.columns.items():
                if isinstance(column, int):
                    raise Invalid(self.keys[name], f"'{path}' has names, not numbers: {listed(found)}.")
                if column not in found:
                    near = did_you_mean(column, found)
                    message = f"'{path}' has no '{column}' in line {number}.{near}  (has: {listed(found)})"
                    raise Invalid(self.keys[name], message)
                values[name] = found[column]
            yield TableRow(path, number, values)

    def _read_parquet(self, path: Path) -> Iterator[TableRow]:
        names = parquet.column_names(path)
        where = {name: names[self._find(name, names, path)] for name in self.columns}
        for number, cells in parquet.rows(path, list(dict.fromkeys(where.values()))):
            yield TableRow(path, number, {name: cells[column] for name, column in where.items()})

    def _object(self, text: str, path: Path, number: int) -> dict[str, Any]:
        try:
            found = json.loads(text)
        except json.JSONDecodeError as error:
            raise UserError(
                f"{path}:{number}: is not JSON: {error.msg}, at column {error.colno}. Write one object a line."
            ) from error
        if not isinstance(found, dict):
            raise UserError(f"{path}:{number}: expected an object with names, found {text[:40]!r}.")
        return found


def number(record: TableRow, name: str, column: object) -> float:
    """A cell as a number."""
    value = record.values[name]
    try:
        found = float(value)
    except (TypeError, ValueError) as error:
        raise UserError(
            f"{record.place}: column '{column}' holds {value!r}, which is no number. "
            "Mend the cell, or leave the column out."
        ) from error
    if not math.isfinite(found):
        raise UserError(f"{record.place}: column '{column}' holds {value!r}. Only finite numbers can be learned from.")
    return found


def text(record: TableRow, name: str, column: object) -> str:
    """A cell as text."""
    value = record.values[name]
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise UserError(f"{record.place}: column '{column}' holds {value!r}, which is no text. Mend it.")
