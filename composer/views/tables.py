"""Tables of text for the terminal, laid out by rich: as wide as the terminal, or 80 columns where there is none.

A table is a text without colours, the same on a terminal, in a pipe and in a file. Cells are shown as they are: they
hold no markup, and characters that could move the cursor become spaces.
"""

from __future__ import annotations

import io
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

#: The width where the output is no terminal.
WIDTH = 80

#: What separates two columns.
GAP = "  "

#: The width down to which a column that is cut gives way before others are broken inside their words.
SHORTEST = 8

#: The lines of rich's boxes, of which the table has the rules below the headings and above the totals.
RULES = "    \n    \n----\n    \n----\n----\n    \n    \n"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    right: whether its cells end at the right edge, as numbers do
    cut: whether a cell that is too long is cut to one line, which ends with an ellipsis; otherwise it is wrapped
    """

    heading: str
    right: bool = False
    cut: bool = False


def terminal_width(otherwise: int = WIDTH) -> int:
    """The columns of the terminal, or of the environment variable COLUMNS; without either, 80 or another number."""
    return shutil.get_terminal_size((otherwise, 24)).columns


def filled(text: str, indent: int = 0) -> str:
    """A paragraph, wrapped between words to the width of the terminal; further lines are indented."""
    return textwrap.fill(
        text, max(terminal_width(), WIDTH // 2), subsequent_indent=" " * indent, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def printable(text: str) -> str:
    """The text in one line, without control characters."""
    return "".join(character if character.isprintable() else " " for character in text)


def cut_text(text: str, count: int) -> str:
    """The text, of which an ellipsis ends the first characters where it has more than ``count``."""
    return text if len(text) <= count else f"{text[: count - 1]}…"


def cut_line(text: str, width: int) -> str:
    """The text in one line of at most ``width`` cells, without control characters."""
    from rich.cells import cell_len, set_cell_size

    line = printable(text)
    return line if cell_len(line) <= width else f"{set_cell_size(line, width - 1)}…"


def text_table(
    columns: Iterable[Column | str],
    rows: Iterable[Sequence[str]],
    *,
    totals: Iterable[Sequence[str]] = (),
    width: int | None = None,
) -> str:
    """A table of text: headings, a rule, and the rows.

    columns: a heading alone is that of a column of text
    totals: rows at the end, below a rule of their own
    width: the most cells of a line; the terminal's by default
    """
    from rich.box import Box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    every = [Column(column) if isinstance(column, str) else column for column in columns]
    parts = [[list(map(printable, row)) for row in part] for part in (rows, totals)]
    head = [printable(column.heading) for column in every]
    width = width or terminal_width()
    widths = _widths(every, [head, *parts[0], *parts[1]], width - len(GAP) * (len(every) - 1))
    table = Table(box=Box(RULES, ascii=True), show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column, heading, size in zip(every, head, widths, strict=True):
        overflow: Literal["ellipsis", "fold"] = "ellipsis" if column.cut else "fold"
        side: Literal["left", "right"] = "right" if column.right else "left"
        table.add_column(Text(heading), width=size, justify=side, no_wrap=column.cut, overflow=overflow)
    for part in parts:
        table.add_section()
        for row in part:
            table.add_row(*map(Text, row))
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False, force_jupyter=False)
    with console.capture() as shown:
        console.print(table)
    return "\n".join(line.rstrip() for line in shown.get().splitlines())


def _widths(columns: Sequence[Column], rows: Sequence[Sequence[str]], room: int) -> list[int]:
    """The widths of the columns: those of their longest cells, less what has to be wrapped or cut to fit the room.

    The column with the most to spare gives way first. Words are broken only where no column has anything to spare.
    """
    from rich.cells import cell_len

    cells = list(zip(*rows, strict=True))
    widths = [max(map(cell_len, column)) for column in cells]
    words = [max((cell_len(word) for cell in column for word in cell.split()), default=1) for column in cells]
    least = [min(longest, SHORTEST) if column.cut else longest for column, longest in zip(columns, words, strict=True)]
    while sum(widths) > room and max(widths) > 1:
        spare = [width - low for width, low in zip(widths, least, strict=True)]
        slack = spare if max(spare) > 0 else widths
        widths[slack.index(max(slack))] -= 1
    return widths
