"""How the cells of a table write numbers: the decimal mark, and the words that stand for a missing value."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from composer.data.layout.cutting import is_number

#: Words that stand for a missing value in a column of numbers, in whatever case. An empty cell does, too.
MISSING = frozenset(("na", "n/a", "#n/a", "nan", "null", "none", "?", "-"))

#: Those that hardly ever name a class, as people spell them.
UNLABELLED = frozenset(("NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL"))

#: A number with groups of three digits before the decimal mark; several groups or a decimal mark tell it for certain.
GROUPED = {
    ".": re.compile(r"[+-]?[1-9]\d{0,2}((,\d{3})+\.\d+|(,\d{3}){2,})"),
    ",": re.compile(r"[+-]?[1-9]\d{0,2}((\.\d{3})+,\d+|(\.\d{3}){2,})"),
}

#: The largest number that can be learned from: the difference of two of them is still one of float32.
LARGEST = 1e38

COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")

#: May be a decimal number, or a number with thousands apart.
DOUBTFUL = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}")


@dataclass(frozen=True)
class Numerals:
    """
    decimal: the mark before decimals, a point or a comma
    missing: the words that stand for a missing value, instead of the usual ones; numbers are compared by their value
    """

    decimal: str = "."
    missing: Sequence[str | float] | None = None

    @cached_property
    def _missing_numbers(self) -> frozenset[float]:
        return frozenset(float(word) for word in self.missing or () if is_number(word))

    @cached_property
    def _missing_words(self) -> frozenset[str]:
        return frozenset(str(word).strip() for word in self.missing or ())

    def missing_number(self, cell: object) -> bool:
        """Whether a cell of a column of numbers holds no value."""
        if _empty(cell):
            return True
        if self.missing is None:
            return isinstance(cell, str) and cell.strip().lower() in MISSING
        return self._named(cell) or (self.is_number(cell) and self.number(cell) in self._missing_numbers)

    def missing_label(self, cell: object) -> bool:
        """Whether a cell of a column of classes names no class."""
        if _empty(cell):
            return True
        return self._named(cell) if self.missing is not None else isinstance(cell, str) and cell.strip() in UNLABELLED

    def _named(self, cell: object) -> bool:
        return isinstance(cell, str | int | float) and str(cell).strip() in self._missing_words

    def number(self, cell: object) -> float:
        """The number of a cell; a ValueError or TypeError where it holds none, or may hold one of two."""
        if not isinstance(cell, str):
            return float(cell)  # type: ignore[arg-type]
        text = cell.strip()
        if GROUPED[self.decimal].fullmatch(text):
            return float(text.replace("," if self.decimal == "." else ".", "").replace(",", "."))
        if self.decimal == ",":
            if COMMA.fullmatch(text):
                return float(text.replace(",", "."))
            if "." in text:
                raise ValueError(text)
        return float(text)

    def is_number(self, cell: object) -> bool:
        try:
            self.number(cell)
        except (TypeError, ValueError):
            return False
        return True

    def numeric(self, cells: Sequence[object]) -> bool:
        """Whether a column holds numbers: at least one, and besides numbers only words for a missing value."""
        some = False
        for cell in cells:
            if self.missing_number(cell):
                continue
            if not self.is_number(cell):
                return False
            some = True
        return some


def _empty(cell: object) -> bool:
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def find_decimal(table: Sequence[Sequence[str]], delimiter: str) -> str:
    """The decimal mark of a table: a comma where a column is numeric with it alone, and none with a point."""
    if delimiter == ",":
        return "."
    comma, point = Numerals(","), Numerals(".")
    certain = False
    for column in columns_of(table[1:]):
        if point.numeric(column):
            if any("." in cell for cell in column):
                return "."
        elif comma.numeric(column):
            certain = certain or any("," in cell and not DOUBTFUL.fullmatch(cell.strip()) for cell in column)
    return "," if certain else "."


def columns_of(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The cells of every column, of rows that may differ in length."""
    width = max(map(len, rows), default=0)
    return [[row[place] for row in rows if place < len(row)] for place in range(width)]


def unfit(number: float) -> str | None:
    """Why a number cannot be learned from; None if it can."""
    if not math.isfinite(number):
        return "Only finite numbers can be learned from."
    if abs(number) > LARGEST:
        return f"Numbers beyond {LARGEST:g} do not fit into float32. Mend the cell, or write the column in other units."
    return None
