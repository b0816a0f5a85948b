"""Examples that are records of the user's files."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from composer.data.examples import Examples
from composer.data.parts import SPLIT_COLUMN, Parts
from composer.data.source import Split
from composer.data.tables import Record, Table


class Filed(Examples):
    """A subclass makes ``parts``, and a ``table`` with a column for every field that has one, where it reads tables."""

    parts: Parts
    table: Table | None = None

    def forget(self) -> None:
        self.parts.forget()

    def records(self, split: Split) -> Iterator[Record]:
        return self.parts.records(split)

    def read_all(self, given: Collection[str]) -> Split:
        self.given, self.parts.whole = frozenset(given), True
        if self.table is not None:
            for name in (SPLIT_COLUMN, *(name for name in self.codecs if not self.reads(name))):
                self.table.columns.pop(name, None)
        return "test"
