"""Examples that are records of the user's files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from composer.data.examples import Examples
from composer.data.parts import SPLIT_COLUMN, Parts
from composer.data.source import Split
from composer.data.tables import Record, Table


class Filed(Examples):
    """A subclass makes ``parts``, and a ``table`` with a column for every field that has one, where it reads tables."""

    every_row: Split = "test"
    parts: Parts
    table: Table | None = None

    def forget(self) -> None:
        self.parts.forget()

    def records(self, split: Split) -> Iterator[Record]:
        return self.parts.records(split)

    def restore(self, state: Mapping[str, Any], fields: Collection[str] | None = None) -> None:
        super().restore(state, fields)
        if fields is None:
            return
        self.only, self.parts = frozenset(fields), self.parts.undivided()
        if self.table is not None:
            self.table = self.table.without([SPLIT_COLUMN, *(name for name in self.codecs if not self.reads(name))])
