"""Tables that fit the terminal by leaving out their least important columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from composer.views.tables import GAP, Column, terminal_width, text_table

#: The width of the first column, which names the rows and is cut, and of those that wrap, before one is left out.
SHORT = 24


@dataclass(frozen=True)
class RankedColumn:
    """A column of a table.

    rank: where the table is too wide, the column with the lowest is left out first
    wraps: whether it may be narrow, in several lines
    """

    heading: str
    cells: Sequence[str]
    rank: int
    right: bool = True
    wraps: bool = False

    @property
    def width(self) -> int:
        from rich.cells import cell_len

        longest = max(map(cell_len, (self.heading, *self.cells)))
        return min(longest, SHORT) if self.wraps else longest


def ranked_table(columns: Sequence[RankedColumn], width: int | None = None) -> tuple[str, str]:
    """The table of the columns that fit, and what is left out, in a sentence. ``width``: the terminal's by default."""
    room, kept = width or terminal_width(), list(columns)
    while len(kept) > 2 and _width(kept) > room:
        kept.remove(min(kept, key=lambda column: column.rank))
    heads = [Column(column.heading, column.right, cut=column is columns[0]) for column in kept]
    rows = zip(*(column.cells for column in kept), strict=True)
    others = ", ".join(column.heading for column in columns if column not in kept)
    note = f"Columns left out, for which the terminal is too narrow: {others}." if others else ""
    return text_table(heads, rows, width=room), note


def _width(columns: Sequence[RankedColumn]) -> int:
    name, *others = (column.width for column in columns)
    return sum(len(GAP) + other for other in others) + min(name, SHORT)
