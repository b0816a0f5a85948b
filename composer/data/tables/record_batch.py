"""Some records by columns, the unit in which records are stored, divided, learned from and encoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, islice
from pathlib import Path
from typing import Any

from composer.data.tables.table import TableRow

#: The number of records of a batch.
BATCH = 500


@dataclass
class RecordBatch:
    """
    files, lines: of every record
    columns: the values of every record, by the names of the fields
    """

    files: list[Path]
    lines: list[int]
    columns: dict[str, list[Any]]

    @classmethod
    def of(cls, records: Sequence[TableRow]) -> RecordBatch:
        columns = {name: [record.values[name] for record in records] for name in records[0].values}
        return cls([record.file for record in records], [record.line for record in records], columns)

    @property
    def size(self) -> int:
        return len(self.files)

    def records(self) -> Iterator[TableRow]:
        for file, line, *values in zip(self.files, self.lines, *self.columns.values(), strict=True):
            yield TableRow(file, line, dict(zip(self.columns, values, strict=True)))

    def place(self, row: int) -> str:
        """The file and line of a record, for messages."""
        return TableRow(self.files[row], self.lines[row], {}).place

    def taken(self, kept: Sequence[bool]) -> RecordBatch:
        """The records for which ``kept`` is true."""
        columns = {name: list(compress(values, kept)) for name, values in self.columns.items()}
        return RecordBatch(list(compress(self.files, kept)), list(compress(self.lines, kept)), columns)

    def single(self) -> Iterator[RecordBatch]:
        """Every record as a batch of its own."""
        for row in range(self.size):
            yield self.taken([row == other for other in range(self.size)])


def batches_of(records: Iterable[TableRow]) -> Iterator[RecordBatch]:
    left = iter(records)
    while some := list(islice(left, BATCH)):
        yield RecordBatch.of(some)
