"""The guessed type of a column, and its statistics."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from os.path import commonprefix
from pathlib import Path
from statistics import StatisticsError, correlation, median
from typing import Any, Literal

from composer.data.fields.attributes import SLOT
from composer.data.layout import Numerals
from composer.data.layout.cutting import is_number
from composer.data.series.series_columns import counts_up
from composer.data.splits.splits import WORDS as SPLIT_NAMES
from composer.data.tables.readers import PICTURES, SOUNDS
from composer.data.tables.table import Column

#: The types of fields, and beside them: date, id, split and constant, which no field reads, and features, of a word
#: form, which are read as text.
Guess = Literal[
    "text", "class", "classes", "number", "image", "audio", "attributes", "words", "sequence", "features", "date", "id",
    "split", "constant",
]  # fmt: skip

#: Dates; numbers step by step, with spaces or semicolons between.
PATTERNS: dict[Guess, re.Pattern[str]] = {
    "date": re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d{2}.*)?|(19|20)\d\d[-/](0?[1-9]|1[0-2])"),
    "sequence": re.compile(r"[+-]?\d+(\.\d+)?([ ;]+[+-]?\d+(\.\d+)?)+"),
}

#: Features of a word form, as in UniMorph: V;PST;3;SG
FEATURES = re.compile(r"[A-Z]+[A-Z0-9]*(;[A-Z0-9][\w.{}/+()-]*)*")

#: A column has classes where it has at most this number of values, of at most this number of words each (on average, if
#: a cell is one class), which come this often on average.
CLASSES, WORDS, REPEATED = 200, 4, 5

#: What may stand between two labels of a cell, in the order in which it is looked for.
SEPARATORS = ("|", ";", ",")

#: Of the labels in such cells, at least this share stand first in one cell and behind another label in another.
MOVING = 0.3

#: A number that may stand for a missing value comes at least this often, beside as many other numbers.
FAR = 3

#: Columns whose values are listed with their numbers.
LISTED = ("class", "classes", "split")

#: Columns of these names hold what is predicted, where that is a class.
LABELS = ("label", "class", "category", "sentiment", "polarity", "intent", "rating", "stars", "target", "gold_label")


@dataclass(frozen=True)
class ColumnSummary:
    """
    column: the name of the column, or its number counted from 1
    empty: the number of rows whose cell is empty, or holds a word for a missing value
    distinct: the number of different values
    words: the number of different words, for texts
    lengths: least, median and largest number of words (of values in a list), or least, median and largest number
    balance: the most frequent values with their numbers of rows, for classes
    separator: stands between the labels of a cell, for a column of several labels a cell
    begins: the characters with which every text begins
    steady: the correlation of a number with that of the row before
    far: a number that comes again and is far below all others, and its number of rows: a missing value, perhaps
    once: the values that occur in one row only, for classes
    """

    column: Column
    guess: Guess
    empty: int
    distinct: int
    words: int
    lengths: tuple[float, float, float] | None
    balance: tuple[tuple[str, int], ...]
    once: tuple[str, ...]
    separator: str | None = None
    begins: str = ""
    steady: float | None = None
    far: tuple[float, int] | None = None


def summarise(column: Column, values: Sequence[Any], folder: Path, numerals: Numerals) -> ColumnSummary:
    """
    values: the cells of the column
    folder: where the table is, to which paths in it are relative
    numerals: how the table writes numbers and missing values
    """
    absent = numerals.missing_number if numerals.numeric(values) else _empty
    filled = [value for value in values if not absent(value)]
    guess = _guess(column, filled, Counter(map(str, filled)), folder, numerals)
    if guess == "class":
        filled = [value for value in filled if not numerals.missing_label(value)]
    counts = Counter(map(str, filled))
    separator = None
    if guess in ("text", "class") and (separator := label_separator([str(value) for value in filled])):
        guess = "classes"
        counts = Counter(label.strip() for value in filled for label in str(value).split(separator) if label.strip())
    words: set[str] = set()
    sizes: list[float] = []
    for value in filled:
        if guess in ("number", "class", "id", "date") and numerals.is_number(value):
            sizes.append(numerals.number(value))
        elif isinstance(value, list):
            sizes.append(len(value))
        elif guess in ("text", "words", "attributes", "features"):
            split = str(value).split()
            words.update(split)
            sizes.append(len(split))
    lengths = (min(sizes), median(sizes), max(sizes)) if sizes else None
    listed = sorted(counts.items(), key=lambda item: (-item[1], item[0])) if guess in LISTED else []
    once = tuple(name for name, count in listed if count == 1)
    begins = commonprefix(list(counts)) if guess == "text" else ""  # noqa: RUF071 - of texts, not of paths
    steady, far = (steadiness(sizes), far_below(sizes)) if guess == "number" else (None, None)
    empty = len(values) - len(filled)
    return ColumnSummary(
        column, guess, empty, len(counts), len(words), lengths, tuple(listed), once, separator, begins, steady, far
    )


def steadiness(numbers: Sequence[float]) -> float | None:
    """The correlation of numbers with those before them; None for fewer than three, or where it is not defined."""
    try:
        return correlation(numbers[:-1], numbers[1:])
    except StatisticsError:
        return None


def far_below(numbers: Sequence[float]) -> tuple[float, int] | None:
    """The smallest number and how often it comes, if it is further from the next one than the next from the largest."""
    least = min(numbers)
    others = [number for number in numbers if number != least]
    often = len(numbers) - len(others)
    if often < FAR or len(set(others)) < FAR or min(others) - least <= max(others) - min(others):
        return None
    return least, often


def _empty(value: Any) -> bool:
    return value is None or value == ""


def _guess(column: Column, filled: list[Any], counts: Counter[str], folder: Path, numerals: Numerals) -> Guess:
    if len(counts) < 2:
        return "constant"
    if all(isinstance(value, list) for value in filled):
        return "sequence" if all(is_number(item) for value in filled for item in value) else "words"
    if all(name.lower() in SPLIT_NAMES for name in counts):
        return "split"
    texts = list(counts)
    if (found := _files(texts, folder)) is not None:
        return found
    repeated = len(counts) <= CLASSES and len(filled) >= REPEATED * len(counts)
    if all(map(numerals.is_number, texts)):
        numbers = [numerals.number(text) for text in texts]
        whole = all(number.is_integer() for number in numbers)
        if whole and len(counts) == len(filled) and counts_up(numbers):
            return "id"
        named = str(column).lower() in LABELS
        return "class" if whole and repeated and (named or len(counts) <= 20) else "number"
    for guess, pattern in PATTERNS.items():
        if all(map(pattern.fullmatch, texts)):
            return guess
    if all("[" in text and not SLOT.sub("", text).strip() for text in texts):
        return "attributes"
    if all(map(FEATURES.fullmatch, texts)) and sum(";" in text for text in texts) >= len(texts) / 2:
        return "features"
    words = sum(len(text.split()) for text in texts) / len(texts)
    few = len(filled) < 20 and len(counts) < len(filled) and words < 1.5  # a small example file
    return "class" if words <= WORDS and (repeated or few) else "text"


def _files(texts: list[str], folder: Path) -> Guess | None:
    """Whether the cells are paths of pictures or recordings; one of the first few that exists is enough."""
    suffixes = {Path(text).suffix.lower() for text in texts}
    kind: Guess | None = "image" if suffixes <= set(PICTURES) else "audio" if suffixes <= set(SOUNDS) else None
    return kind if kind and any((folder / text).is_file() for text in texts[:20]) else None


def label_separator(cells: Sequence[str]) -> str | None:
    """What stands between the labels of these cells; None where the cells do not hold several labels."""
    return next((separator for separator in SEPARATORS if _are_labels(cells, separator)), None)


def _are_labels(cells: Sequence[str], separator: str) -> bool:
    rows = [[label.strip() for label in cell.split(separator) if label.strip()] for cell in cells]
    counts = Counter(label for row in rows for label in row)
    several = sum(len(row) > 1 for row in rows)
    if len({len(row) for row in rows}) < 2 or several < len(rows) / 10:
        return False  # a city and its state are two parts of one thing
    least = min(REPEATED, max(2, len(rows) // 10))  # of a small example file
    few = len(counts) <= CLASSES and sum(counts.values()) >= least * len(counts)
    if not few or any(len(set(row)) < len(row) for row in rows) or any(len(label.split()) > WORDS for label in counts):
        return False
    first = {row[0] for row in rows if row}
    behind = {label for row in rows for label in row[1:]}
    return len(first & behind) >= MOVING * len(counts)
