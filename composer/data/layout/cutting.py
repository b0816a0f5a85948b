"""How the lines of a file become the cells of a table."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

#: The delimiters that have a name in a config. Any other single character stands for itself.
DELIMITERS = {"tab": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " ", "first_space": "first_space"}

#: Lines that begin with one of these may be comments.
COMMENTS = ("#", "%", "//")

#: A line "label text": the label is a number, an abbreviation in capitals, fastText's prefix, or a usual class name.
LABEL_TEXT = re.compile(
    r"([+-]?\d+|__label__\S+|[A-Z]{2,}(:\w+)?|pos|neg|positive|negative|neutral|ham|spam)\s+(?=.*[^\W\d_])\S.*"
)

#: A number with a decimal comma.
DECIMAL = re.compile(r"[+-]?\d*,\d+")

#: The number of records by which decimal commas and a header are recognised.
RECORDS = 200

#: The number of lines from which an unusual delimiter or a label before the text is accepted.
ENOUGH = 4
PLENTY = 10

#: The number of lines by which a lexicon is recognised, and the largest mean length of its symbols.
LEXICON, SHORT = 1000, 3.2


class Cutting(NamedTuple):
    """delimiter: a character; " " for any white space; "first_space" for a cut at the first white space alone
    quoted: whether a cell in quotes may hold the delimiter and line breaks
    comment: lines that begin with this are left out; None: no line is
    """

    delimiter: str
    quoted: bool = False
    comment: str | None = None

    def cells(self, line: str) -> list[str]:
        """The cells of a line without quotes."""
        if self.delimiter == " ":
            return line.split()
        if self.delimiter == "first_space":
            return line.split(None, 1)
        return line.split(self.delimiter)

    @property
    def name(self) -> str:
        """The delimiter as a config spells it."""
        return next((name for name, character in DELIMITERS.items() if character == self.delimiter), self.delimiter)

    def is_comment(self, line: str) -> bool:
        return self.comment is not None and line.startswith(self.comment)

    def records(
        self, lines: Iterable[tuple[int, str]], failed: Callable[[int, csv.Error], None]
    ) -> Iterator[tuple[int, list[str]]]:
        """The number of the first line, and the cells, of every record in some numbered lines.

        A line inside a cell in quotes is never a comment.

        failed: is told of a record whose quotes do not match
        """
        if not self.quoted:
            yield from ((number, self.cells(line)) for number, line in lines if line and not self.is_comment(line))
            return
        start = 0  # the number of the record's first line; 0 before it is read

        def fed() -> Iterator[str]:
            nonlocal start
            for number, line in lines:
                if start or not self.is_comment(line):
                    start = start or number
                    yield f"{line}\n"

        reader = csv.reader(fed(), delimiter=self.delimiter, strict=True)
        while True:
            start = 0
            try:
                cells = next(reader, None)
            except csv.Error as error:
                failed(start, error)
                continue
            if cells is None:
                return
            if cells:
                yield start, cells

    def table(self, lines: Iterable[str], *, whole: bool = True) -> Iterator[list[str]]:
        """The cells of all records that are not blank. Quotes that do not match are a csv.Error.

        whole: whether the last record is whole; otherwise its quotes need not match
        """

        def failed(start: int, error: csv.Error) -> None:
            if whole or "end of data" not in str(error):
                raise error

        return (cells for _, cells in self.records(enumerate(lines, 1), failed) if not blank(cells))

    def width(self, lines: Sequence[str], *, whole: bool = True) -> int | None:
        """The number of cells of every record; None where records differ. The first that differs ends the search."""
        found: int | None = None
        try:
            for cells in self.table(lines, whole=whole):
                if found is not None and len(cells) != found:
                    return None
                found = len(cells)
        except csv.Error:
            return None
        return found


def blank(cells: Sequence[object]) -> bool:
    """Whether a record of several cells holds nothing: spreadsheets write such rows below a table."""
    return len(cells) > 1 and all(cell == "" for cell in cells)


def find_cutting(lines: Sequence[str], kind: str, *, whole: bool) -> Cutting:
    """The cutting that fits these lines, which are not blank.

    A .csv file is cut at commas and any other file at tabs, unless its lines fit no such table and fit another.

    kind: the suffix of the file
    whole: whether these are all lines of the file
    """
    usual = Cutting(",", quoted=True) if kind == "csv" else Cutting("\t")
    if kind != "tsv" and (decimal := _decimal_commas(lines, kind, whole)) is not None:
        return decimal
    if (fitting := _fitting(usual, lines, whole)) is not None:
        return fitting
    if kind == "csv":
        others = [Cutting(character, quoted=True) for character in ";\t|"]
    elif any("\t" in line for line in lines):
        others = [Cutting("\t", quoted=True)]
    elif kind == "tsv":
        return usual
    else:
        others = [Cutting(character, quoted=True) for character in ",;|" if len(lines) >= PLENTY]
        spaced = Cutting(" ", comment=first_mark(lines))  # numpy.savetxt writes names of columns as a comment
        others += [cutting for cutting in (*map(Cutting, ",;|"), spaced) if _numeric(cutting, lines)]
    found = (_fitting(cutting, lines, whole) for cutting in others if len(lines) > 1)
    first = next((cutting for cutting in found if cutting is not None), None)
    if first is not None:
        return first
    return _label_text(lines) or _lexicon(lines) or usual


def _decimal_commas(lines: Sequence[str], kind: str, whole: bool) -> Cutting | None:
    """A cut at semicolons or tabs, where every line has them and commas stand in decimal numbers alone: 1,5;2,5"""
    for character in ";\t" if kind == "csv" else ";":
        if len(lines) < 2 or not all(character in line for line in lines):
            continue
        cutting = _fitting(Cutting(character, quoted=True), lines, whole)
        if cutting is not None:
            records = cutting.table(lines, whole=whole)
            commas = [cell.strip() for cells in islice(records, RECORDS) for cell in cells if "," in cell]
            if commas and all(map(DECIMAL.fullmatch, commas)):
                return cutting
    return None


def _fitting(cutting: Cutting, lines: Sequence[str], whole: bool) -> Cutting | None:
    """The cutting, if all records have the same number of cells, at least two; without comments, if need be."""
    found = commented(cutting, lines, whole)
    return found if (found.width(lines, whole=whole) or 0) > 1 else None


def commented(cutting: Cutting, lines: Sequence[str], whole: bool) -> Cutting:
    """The cutting with the mark of comments, if without the lines that begin with it all records have the same width.

    A line that begins with such a mark and has as many cells as the others is no comment.
    """
    if cutting.width(lines, whole=whole) is not None:
        return cutting
    for comment in COMMENTS:
        left = cutting._replace(comment=comment)
        if any(line.startswith(comment) for line in lines) and left.width(lines, whole=whole) is not None:
            return left
    return cutting


def _numeric(cutting: Cutting, lines: Sequence[str]) -> bool:
    """Whether at least half of the cells of every line are numbers, apart from the first line and from comments."""
    body = (cutting.cells(line) for line in lines if not line.startswith(COMMENTS))
    next(body, None)
    second = next(body, None)
    rest = chain([second], body) if second is not None else iter([[]])
    return all(2 * sum(map(is_number, cells)) >= len(cells) > 1 for cells in rest)


def _label_text(lines: Sequence[str]) -> Cutting | None:
    """A cut at the first white space, where a label, which comes again in other lines, precedes the text."""
    comment = first_mark(lines)
    body = [line for line in lines if not (comment and line.startswith(comment))]
    if len(body) < ENOUGH or not all(map(LABEL_TEXT.fullmatch, body)):
        return None
    labels = {line.split(None, 1)[0] for line in body}
    return Cutting("first_space", comment=comment) if 1 < len(labels) <= len(body) / 2 else None


def _lexicon(lines: Sequence[str]) -> Cutting | None:
    """A cut at the first white space, where a word precedes symbols of a small set: ``bout B AW1 T``.

    The words hardly ever come twice, the symbols are short and come again and again.
    """
    body = [line.split() for line in lines[:LEXICON] if not line.startswith(COMMENTS)]
    symbols = [symbol for words in body for symbol in words[1:]]
    different, first = set(symbols), {words[0] for words in body}
    if len(body) < PLENTY or not all(len(words) > 1 for words in body) or len(first) < 0.9 * len(body):
        return None
    few = len(symbols) >= (2 if len(different) <= 100 else 20) * len(different)
    if not few or sum(map(len, symbols)) > SHORT * len(symbols) or len(first & different) > 0.1 * len(first):
        return None
    return commented(Cutting("first_space"), lines, whole=True)


def first_mark(lines: Sequence[str]) -> str | None:
    """The mark of comments with which the first line begins."""
    return next((mark for mark in COMMENTS if lines and lines[0].startswith(mark)), None)


def is_number(cell: object) -> bool:
    try:
        float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True
