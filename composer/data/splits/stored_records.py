"""The records of the user's files, stored by columns in memory or in a temporary file.

A file is read and checked once. Splits are drawn from the number of its records, vocabularies and scales are learned
from the columns of single fields, and all columns are encoded at last: each of these reads the stored columns.
"""

from __future__ import annotations

import json
import tempfile
import weakref
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from composer.data.packed.packed_rows import cannot_spill
from composer.data.tables.record_batch import RecordBatch, batches_of
from composer.data.tables.table import TableRow

if TYPE_CHECKING:
    from composer.data.source import Split

#: The number of bytes above which records are written to a file.
MEMORY = 32 * 2**20

#: The types of values that JSON keeps. Others, such as arrays that are mapped from their file, stay objects.
PLAIN = (str, int, float, list, dict, type(None))

#: A column's values, or the place in the buffer where they begin.
Column = int | list[Any]


class _Stored(NamedTuple):
    """Where a batch is: its size, and the places of its files and lines, and of its columns."""

    split: Split
    size: int
    origin: int
    columns: dict[str, Column]


class StoredRecords:
    """The records of some files, each of which has a split. The buffer becomes a temporary file when it is large."""

    def __init__(self, files: Iterable[tuple[Split, Iterable[TableRow]]]) -> None:
        self._buffer = tempfile.SpooledTemporaryFile(max(MEMORY, 1), prefix="composer-", suffix=".records")  # noqa: SIM115
        weakref.finalize(self, self._buffer.close)
        self._batches = [self._add(split, batch) for split, records in files for batch in batches_of(records)]

    def _add(self, split: Split, batch: RecordBatch) -> _Stored:
        columns = {name: self._column(values) for name, values in batch.columns.items()}
        return _Stored(split, len(batch.lines), self._write([batch.files, batch.lines]), columns)

    def _column(self, values: list[Any]) -> Column:
        return self._write(values) if all(isinstance(value, PLAIN) for value in values) else values

    def _write(self, values: Any) -> int:
        """Write some values at the end of the buffer, a line of JSON, and return where they begin."""
        place = self._buffer.tell()
        try:
            self._buffer.write(json.dumps(values).encode() + b"\n")
        except OSError as error:
            raise cannot_spill(error.strerror) from error
        return place

    def _read(self, place: Column) -> Any:
        if not isinstance(place, int):
            return place
        self._buffer.seek(place)
        return json.loads(self._buffer.readline())

    def size(self, split: Split) -> int:
        return sum(batch.size for batch in self._batches if batch.split == split)

    def column(self, split: Split, name: str) -> Iterator[Any]:
        """The values of a field in all records of the files of a split."""
        for batch in self._batches:
            if batch.split == split:
                yield from self._read(batch.columns[name])

    def batches(self) -> Iterator[tuple[Split, RecordBatch]]:
        for batch in self._batches:
            columns = {name: self._read(place) for name, place in batch.columns.items()}
            files, lines = self._read(batch.origin)
            yield batch.split, RecordBatch(files, lines, columns)
