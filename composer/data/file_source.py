"""Examples that are records of the user's files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from composer.data.example_source import ExampleSource
from composer.data.source import Split
from composer.data.splits import SPLIT_COLUMN, Splits
from composer.data.tables import Table, TableRow


class FileSource(ExampleSource):
    """A subclass sets ``parts`` and, where it reads tables, ``table``, with a column for each field of the table."""

    every_row: Split = "test"
    parts: Splits
    table: Table | None = None

    def forget(self) -> None:
        self.parts.forget()

    def records(self, split: Split) -> Iterator[TableRow]:
        return self.parts.records(split)

    def restore(self, state: Mapping[str, Any], fields: Collection[str] | None = None) -> None:
        super().restore(state, fields)
        if fields is None:
            return
        self.only, self.parts = frozenset(fields), self.parts.undivided()
        if self.table is not None:
            self.table = self.table.without([SPLIT_COLUMN, *(name for name in self.codecs if not self.reads(name))])
