"""A short table that says what an object is: text at a prompt, HTML in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

#: The most rows that are shown of an object.
ROWS = 20


@dataclass(frozen=True)
class ShortTable:
    """
    title: what the object is, in a line
    right: the headings of columns of numbers, which end at the right edge
    notes: sentences below the rows
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def shown(self) -> list[list[str]]:
        """The first rows, each cell in one line without control characters."""
        rows = [[_printable(cell) for cell in row] for row in self.rows]
        if len(rows) <= ROWS:
            return rows
        return [*rows[: ROWS - 1], [f"and {len(rows) - ROWS + 1:,} more", *[""] * (len(self.headings) - 1)]]

    def text(self) -> str:
        rows = [list(self.headings), *self.shown]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        ends = [heading in self.right for heading in self.headings]
        rows.insert(1, ["-" * width for width in widths])
        lines = [
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(row, widths, ends, strict=True)
            ).rstrip()
            for row in rows
        ]
        return "\n".join([_printable(self.title), "", *lines, *([""] if self.notes else []), *self.notes])

    def html(self) -> str:
        """Without colours of its own: those of the notebook are light or dark."""
        sides = ["right" if heading in self.right else "left" for heading in self.headings]
        styles = [f"text-align: {side}; padding: .1em .8em .1em 0" for side in sides]

        def line(tag: str, cells: Sequence[str]) -> str:
            pairs = zip(cells, styles, strict=True)
            return "".join(f'<{tag} style="{style}">{escape(cell)}</{tag}>' for cell, style in pairs)

        lines = [line("th", self.headings), *(line("td", row) for row in self.shown)]
        rows = "\n".join(f"<tr>{each}</tr>" for each in lines)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f'<div style="overflow-x: auto"><p>{escape(self.title)}</p><table>{rows}</table>{notes}</div>'


class ShownAsTable:
    """A class whose objects show themselves as their ``short_table``."""

    def short_table(self) -> ShortTable:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.short_table().text()

    def _repr_html_(self) -> str:
        return self.short_table().html()


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
