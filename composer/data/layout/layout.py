"""The layout of a user's file, found in its first part: encoding, form, delimiter, quotes, comments, header."""

from __future__ import annotations

import csv
import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from composer.core.problems import Invalid, UserError, did_you_mean, listed
from composer.data.files import json_values
from composer.data.files.bad_rows import BadRows
from composer.data.files.lines import Line, check_encoding, kind_of, opened
from composer.data.layout.cutting import DELIMITERS, RECORDS, Cutting, commented, find_cutting, first_mark
from composer.data.layout.encoding import Note, guess_encoding
from composer.data.layout.header import has_header
from composer.data.layout.numerals import Numerals, find_decimal

#: The number of bytes at the beginning of a file that are looked at.
HEAD = 4 * 2**20

#: json_lists: lists of cells in a JSON file.
Form = Literal["delimited", "json_objects", "json_lists", "parquet"]

#: Delimiters in words, for notes.
SAID = {"comma": "commas", "semicolon": "semicolons", "pipe": "|", "space": "white space",
        "first_space": "the first white space of the line"}  # fmt: skip

JSON = ("json", "jsonl", "ndjson")


@dataclass(frozen=True)
class Layout:
    """How one file is written.

    header: whether the first record holds the names of the columns
    width: the number of cells of the first record; 0 where lines are not cut into cells. Columns at the end that have
        neither a name nor a value are not counted, and not read
    numerals: how numbers and missing values are written
    spread: of a JSON file, whether it is an array, or a record takes several lines; otherwise each takes one line
    notes: what was found that the file's name does not say, and which key of the config says otherwise
    """

    form: Form
    encoding: str = "utf-8"
    cutting: Cutting = Cutting("\t")  # noqa: RUF009 - a tuple
    header: bool = False
    width: int = 0
    numerals: Numerals = Numerals()  # noqa: RUF009 - frozen
    notes: tuple[Note, ...] = ()
    spread: bool = False


@dataclass(kw_only=True)
class Given:
    """What the config says about its files; what is None is looked up in every file."""

    encoding: str | None = None
    delimiter: str | None = None
    quotes: bool | None = None
    decimal: Literal[".", ","] | None = None
    missing: Sequence[str | float] | None = None

    def __post_init__(self) -> None:
        if self.decimal is not None and self.decimal == DELIMITERS.get(str(self.delimiter), self.delimiter):
            raise Invalid("decimal", f"'{self.decimal}' stands between the cells already (data.delimiter).")
        if self.encoding is not None:
            check_encoding(self.encoding)
        if self.delimiter is not None and self.delimiter not in DELIMITERS and len(self.delimiter) != 1:
            message = f"'{self.delimiter}' is neither one character nor one of {listed(DELIMITERS)}."
            raise Invalid("delimiter", message + did_you_mean(self.delimiter, DELIMITERS))


def layout_of(path: Path, given: Given = Given()) -> Layout:  # noqa: B008 - never changed
    """The layout of a file, by the config where it says something, and by the first part of the file elsewhere."""
    plain = Numerals(given.decimal or ".", given.missing)
    if kind_of(path) == "parquet":
        return Layout("parquet", numerals=plain)
    head, whole = _head(path)
    encoding, notes = guess_encoding(path, head, whole) if given.encoding is None else (given.encoding, ())
    lines = _lines(head, encoding, whole)
    if kind_of(path) in JSON:
        return _json(path, lines, encoding, notes, given, plain)
    cutting = _cutting(lines, kind_of(path), whole, given)
    table: list[list[str]] = []
    with suppress(csv.Error):  # quotes that do not match are an error where the file is read
        table.extend(islice(cutting.table(lines, whole=whole), RECORDS))
    numerals = Numerals(given.decimal or find_decimal(table, cutting.delimiter), given.missing)
    # up to the last column that has a name or a value
    width = max((place for cells in table for place, cell in enumerate(cells, 1) if cell.strip()), default=0)
    header = has_header([cells[:width] for cells in table], numerals)
    unnamed = len(table[0]) - width if header else 0
    notes = (*notes, *_said(cutting, kind_of(path), given, numerals), *_left_out(unnamed))
    return Layout("delimited", encoding, cutting, header, len(table[0]) - unnamed if table else 0, numerals, notes)


def encoding_of(path: Path, given: str | None = None) -> tuple[str, tuple[Note, ...]]:
    """The encoding of a file of running text, and the notes about it."""
    return guess_encoding(path, *_head(path)) if given is None else (given, ())


def _head(path: Path) -> tuple[bytes, bool]:
    """The first part of a file, and whether it is the whole file."""
    with opened(path) as file:
        head = file.read(HEAD)
    return head, len(head) < HEAD


def _lines(head: bytes, encoding: str, whole: bool) -> list[str]:
    """The lines of the first part that are whole and not blank. Bytes of another encoding are found later."""
    text = head.removeprefix(BOM_UTF8).decode(encoding, errors="replace")
    lines = text.split("\n") if whole else text.split("\n")[:-1]
    return [line.rstrip("\r") for line in lines if line.strip("\r")]


def _left_out(unnamed: int) -> Iterator[Note]:
    if unnamed:
        columns = "the last column has" if unnamed == 1 else f"the last {unnamed} columns have"
        yield Note(f"{columns} neither a name nor a value and {'is' if unnamed == 1 else 'are'} left out", 1)


def _json(
    path: Path, lines: list[str], encoding: str, notes: tuple[Note, ...], given: Given, numerals: Numerals
) -> Layout:
    cutting = Cutting("\t", comment=first_mark(lines))
    notes = (*notes, *_said(cutting, kind_of(path), given, numerals))
    body = [line for line in lines if not cutting.is_comment(line)]
    start = "".join(body[:2]).replace(" ", "")
    listed_lines = len(body) > 1 and all(line.startswith("[") and line.rstrip().endswith("]") for line in body[:2])
    spread = not listed_lines and (start.startswith("[") or _goes_on(body))
    if not listed_lines and not start.startswith("[["):
        return Layout("json_objects", encoding, cutting, True, 0, numerals, notes, spread)
    numbered = (Line(number, line) for number, line in enumerate(body, 1))
    table: list[list[Any]] = []
    with suppress(UserError):  # the first part may end within a record, and errors are met where the file is read
        rows = json_values.records(numbered, path, BadRows(skip=True), list, spread=spread)
        table.extend(row for _, row in islice(rows, RECORDS))
    named = bool(table) and all(isinstance(cell, str) for cell in table[0]) and has_header(table, numerals)
    return Layout("json_lists", encoding, cutting, named, len(table[0]) if table else 0, numerals, notes, spread)


def _goes_on(body: list[str]) -> bool:
    """Whether the first object of a JSON file takes several lines."""
    if len(body) < 2 or not body[0].lstrip().startswith("{") or body[1].lstrip().startswith("{"):
        return False
    try:
        json.loads(body[0])
    except json.JSONDecodeError:
        return True
    return False


def _cutting(lines: list[str], kind: str, whole: bool, given: Given) -> Cutting:
    if given.delimiter is None:
        found = find_cutting(lines, kind, whole=whole)
        return found if given.quotes is None else found._replace(quoted=given.quotes)
    delimiter = DELIMITERS.get(given.delimiter, given.delimiter)
    quoted = kind == "csv" and len(delimiter) == 1 if given.quotes is None else given.quotes
    return commented(Cutting(delimiter, quoted=quoted), lines, whole)


def _said(cutting: Cutting, kind: str, given: Given, numerals: Numerals) -> Iterator[Note]:
    """What was found and the file's name does not say."""
    usual = "comma" if kind == "csv" else "tab"
    if given.delimiter is None and cutting.name != usual:
        yield Note(f"cells are separated by {SAID.get(cutting.name, cutting.name)} (data.delimiter says otherwise)")
    if given.quotes is None and cutting.quoted and kind != "csv":
        yield Note("cells in quotes may hold the delimiter (data.quotes says otherwise)")
    if cutting.comment is not None:
        yield Note(f"lines that begin with {cutting.comment} are left out")
    if given.decimal is None and numerals.decimal == ",":
        yield Note("numbers have decimal commas (data.decimal says otherwise)")
