"""The guessed type of a column, and its statistics."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from statistics import correlation, median
from typing import Any, Literal

from composer.data.fields.attributes import SLOT
from composer.data.layout import Numerals
from composer.data.layout.cutting import is_number
from composer.data.series.series_columns import counts_up
from composer.data.splits.splits import WORDS
from composer.data.survey.labels_in_cells import label_separator
from composer.data.tables.readers import PICTURES, SOUNDS
from composer.data.tables.table import Column

#: The types of fields, and beside them: date, id, split and constant, which no field reads, and features, of a word
#: form, which are read as text.
Guess = Literal[
    "text", "class", "classes", "number", "image", "audio", "attributes", "words", "sequence", "features", "date", "id",
    "split", "constant",
]  # fmt: skip

DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T]\d{1,2}:\d{2}.*)?|(19|20)\d\d[-/](0?[1-9]|1[0-2])")

#: Numbers step by step, with spaces or semicolons between.
SEQUENCE = re.compile(r"[+-]?\d+(\.\d+)?([ ;]+[+-]?\d+(\.\d+)?)+")

#: Features of a word form, as in UniMorph: V;PST;3;SG
FEATURES = re.compile(r"[A-Z]+[A-Z0-9]*(;[A-Z0-9][\w.{}/+()-]*)*")

#: A column has classes where it has at most this number of values, which come this often on average.
CLASSES, REPEATED = 200, 5

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


def summarise(
    column: Column, values: Sequence[Any], folder: Path, numerals: Numerals = Numerals()  # noqa: B008 - frozen
) -> ColumnSummary:  # fmt: skip
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
    return ColumnSummary(
        column, guess, len(values) - len(filled), len(counts), len(words), lengths, tuple(listed), once, separator,
        beginning(counts) if guess == "text" else "", steadiness(sizes) if guess == "number" else None,
        far_below(sizes) if guess == "number" else None,
    )  # fmt: skip


def beginning(texts: Collection[str]) -> str:
    """The characters with which all texts begin."""
    first, last = min(texts), max(texts)
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    return "".join(character for character, _ in same)


def steadiness(numbers: Sequence[float]) -> float | None:
    """The correlation of numbers with those before them; None for fewer than three, or where it is not defined."""
    before, after = numbers[:-1], numbers[1:]
    if len(numbers) < 3 or len(set(before)) < 2 or len(set(after)) < 2:
        return None
    return correlation(before, after)


def far_below(numbers: Sequence[float]) -> tuple[float, int] | None:
    """The smallest number and how often it comes, if it is further from the next one than the next from the largest."""
    others = [number for number in numbers if number != min(numbers)]
    often = len(numbers) - len(others)
    if often < FAR or len(set(others)) < FAR or min(others) - min(numbers) <= max(others) - min(others):
        return None
    return min(numbers), often


def _empty(value: Any) -> bool:
    return value is None or value == ""


def _guess(column: Column, filled: list[Any], counts: Counter[str], folder: Path, numerals: Numerals) -> Guess:
    if len(counts) < 2:
        return "constant"
    if all(isinstance(value, list) for value in filled):
        return "sequence" if all(is_number(item) for value in filled for item in value) else "words"
    if all(name.lower() in WORDS for name in counts):
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
    if all(map(DATE.fullmatch, texts)):
        return "date"
    if all(map(SEQUENCE.fullmatch, texts)):
        return "sequence"
    if all("[" in text and not SLOT.sub("", text).strip() for text in texts):
        return "attributes"
    if all(map(FEATURES.fullmatch, texts)) and sum(";" in text for text in texts) >= len(texts) / 2:
        return "features"
    words = sum(len(text.split()) for text in texts) / len(texts)
    few = len(filled) < 20 and len(counts) < len(filled) and words < 1.5  # a small example file
    return "class" if words <= 4 and (repeated or few) else "text"


def _files(texts: list[str], folder: Path) -> Guess | None:
    """Whether the cells are paths of pictures or recordings; one of the first few that exists is enough."""
    suffixes = {Path(text).suffix.lower() for text in texts}
    kind: Guess | None = "image" if suffixes <= set(PICTURES) else "audio" if suffixes <= set(SOUNDS) else None
    return kind if kind and any((folder / text).is_file() for text in texts[:20]) else None
