"""Cells that hold several labels: the genres "Drama, Comedy", the tags "red|round"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

#: What may stand between two labels, in the order in which it is looked for.
SEPARATORS = ("|", ";", ",")

#: There are at most this number of labels, of at most this number of words each, which come this often on average.
LABELS, WORDS, REPEATED = 200, 4, 5

#: Of the labels, at least this share stand first in one cell and behind another label in another.
MOVING = 0.3


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
    few = len(counts) <= LABELS and sum(counts.values()) >= least * len(counts)
    if not few or any(len(set(row)) < len(row) for row in rows) or any(len(label.split()) > WORDS for label in counts):
        return False
    first = {row[0] for row in rows if row}
    behind = {label for row in rows for label in row[1:]}
    return len(first & behind) >= MOVING * len(counts)
