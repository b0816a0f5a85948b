"""Whether the first record of a table holds the names of its columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

from composer.data.layout.cutting import is_number
from composer.data.layout.numerals import Numerals, columns_of

#: Words that name a column and are hardly ever its value.
NAMES = frozenset(
    """id idx index text texts sentence sentence1 sentence2 question answer review comment title body content document
    label labels class category target targets source sources src tgt trg input output inputs outputs word words tag
    tags pos ner lemma form features premise hypothesis score rating stars value date time timestamp split file path
    filename image audio caption mr ref english french german spanish en fr de language polarity sentiment intent tweet
    utterance name type summary article translation gold_label topic topics genre emotion query response passage
    context""".split()  # noqa: SIM905 - more readable
)


#: A name of a column that is no text. It stands above texts of this number of words or more, in this number of rows.
NAME = re.compile(r"[^\W\d]\w*")
WORDS, ROWS = 3, 5


def has_header(table: Sequence[Sequence[str]], numerals: Numerals = Numerals()) -> bool:  # noqa: B008 - frozen
    """Whether the first record differs from the others as names differ from values.

    A column of numbers, some of which may be missing, decides: a name stands above it, or else a number. Without such
    a column, only usual names of columns, and single words above texts, are taken for a header, because to take an
    example for one would lose it.
    """
    if not table:
        return False
    first, others = table[0], table[1:]
    index = not first[0].strip() and len(first) > 1  # pandas writes no name above the column of row numbers
    named = first[1:] if index else first
    if len(set(named)) < len(named) or not all(cell.strip() for cell in named):
        return False
    if index and others and all(is_number(row[0]) for row in others):
        return True
    if any(map(numerals.numeric, columns_of(others)[: len(first)])):
        return not any(numerals.is_number(cell) or numerals.missing_number(cell) for cell in named)
    usual = all(cell.strip().strip("#").strip().lower() in NAMES for cell in first)
    return len(first) > 1 and (usual or _above_texts(first, others))


def _above_texts(first: Sequence[str], others: Sequence[Sequence[str]]) -> bool:
    """Whether single words stand above a column of texts, and none of them is a value of its own column."""
    if len(others) < ROWS or not all(map(NAME.fullmatch, first)):
        return False
    columns = [[row[i] for row in others if i < len(row)] for i in range(len(first))]
    texts = any(all(len(cell.split()) >= WORDS for cell in column) for column in columns)
    return texts and not any(cell in column for cell, column in zip(first, columns, strict=True))
