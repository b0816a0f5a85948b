"""Some records by columns: so they are stored, divided and encoded. Columns reach another process faster than rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, islice
from pathlib import Path
from typing import Any, NamedTuple

from composer.data.tables.table import TableRow

#: The number of records that are stored, divided, learned from and encoded together.
BATCH = 500


class RecordBatch(NamedTuple):
    """
    files, lines: of every record
    columns: the values of every record, by the names of the fields
    """

    files: list[str]
    lines: list[int]
    columns: dict[str, list[Any]]

    @classmethod
    def of(cls, records: Sequence[TableRow]) -> RecordBatch:
        columns = {name: [record.values[name] for record in records] for name in records[0].values}
        return cls([str(record.file) for record in records], [record.line for record in records], columns)

    def records(self) -> Iterator[TableRow]:
        files = {file: Path(file) for file in set(self.files)}
        for file, line, *values in zip(self.files, self.lines, *self.columns.values(), strict=True):
            yield TableRow(files[file], line, dict(zip(self.columns, values, strict=True)))

    def place(self, row: int) -> str:
        """The file and line of a record, for messages."""
        return TableRow(Path(self.files[row]), self.lines[row], {}).place

    def taken(self, kept: Sequence[bool]) -> RecordBatch:
        """The records for which ``kept`` is true."""
        columns = {name: list(compress(values, kept)) for name, values in self.columns.items()}
        return RecordBatch(list(compress(self.files, kept)), list(compress(self.lines, kept)), columns)


def batches_of(records: Iterable[TableRow]) -> Iterator[RecordBatch]:
    left = iter(records)
    while some := list(islice(left, BATCH)):
        yield RecordBatch.of(some)
