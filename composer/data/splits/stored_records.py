"""The records of the user's files, stored by columns in memory or in a temporary file.

A file is read and checked once. Splits are drawn from the number of its records, vocabularies and scales are learned
from the columns of single fields, and all columns are encoded at last: each of these reads the stored columns.
"""

from __future__ import annotations

import json
import tempfile
import weakref
from collections.abc import Callable, Iterator
from itertools import compress, islice
from pathlib import Path
from typing import Any, NamedTuple

from composer.core.problems import UserError, did_you_mean
from composer.data.packed.packed_rows import cannot_spill
from composer.data.source import SPLITS, Split
from composer.data.splits.splits import GROUP_COLUMN, SPLIT_COLUMN, WORDS, Splits, draw_groups, draw_rows
from composer.data.tables.record_batch import RecordBatch, batches_of
from composer.data.tables.table import TableRow

#: The number of bytes above which records are written to a file.
MEMORY = 32 * 2**20

#: The types of values that JSON keeps. Others, such as arrays that are mapped from their file, stay objects.
PLAIN = (str, int, float, list, dict, type(None))

#: 1 for the index of the training split in SPLITS, 0 for any other.
IN_TRAINING = bytes(number < len(SPLITS) and SPLITS[number] == "train" for number in range(256))

#: A column's values, or the place in the buffer where they begin.
Column = int | list[Any]


class _Stored(NamedTuple):
    """Where a batch is: its size, and the places of its files and lines, and of its columns."""

    split: Split
    size: int
    origin: int
    columns: dict[str, Column]


class StoredRecords:
    """The records of the files of every split, and the split of each. They are read once.

    The buffer becomes a temporary file when it is large.
    """

    def __init__(self, parts: Splits, read: Callable[[Path], Iterator[TableRow]]) -> None:
        self._buffer = tempfile.SpooledTemporaryFile(max(MEMORY, 1), prefix="composer-", suffix=".records")  # noqa: SIM115
        weakref.finalize(self, self._buffer.close)
        splits: tuple[Split, ...] = ("train",) if parts.given.split_column is not None else SPLITS
        files = ((split, file) for split in splits for file in parts.files[split])
        self._batches = [self._add(split, batch) for split, file in files for batch in batches_of(read(file))]
        self._drawn = self._draw(parts)

    def _draw(self, parts: Splits) -> bytearray:
        """For every record of the files of ``path``, the index of its split in SPLITS."""
        given, count = parts.given, sum(batch.size for batch in self._batches if batch.split == "train")
        if parts.whole:
            return bytearray([SPLITS.index("test")]) * count
        if given.split_column is not None:
            records = (record for batch in self._batches for record in self._loaded(batch).records())
            return bytearray(SPLITS.index(_named_split(record)) for record in records)
        if given.split_by is not None:
            return draw_groups([str(group) for group in self._of_path(GROUP_COLUMN)], parts.shares, given.seed)
        return draw_rows(count, parts.shares, given.seed)

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

    def _loaded(self, batch: _Stored) -> RecordBatch:
        files, lines = self._read(batch.origin)
        return RecordBatch(files, lines, {name: self._read(place) for name, place in batch.columns.items()})

    def _of_path(self, name: str) -> Iterator[Any]:
        """The values of a field in all records of the files of ``path``."""
        for batch in self._batches:
            if batch.split == "train":
                yield from self._read(batch.columns[name])

    def column(self, name: str) -> Iterator[Any]:
        """The values of a field in the training split."""
        return compress(self._of_path(name), self._drawn.translate(IN_TRAINING))

    def batches(self) -> Iterator[tuple[Split, RecordBatch]]:
        """All records by their splits, in the order of the files."""
        drawn = iter(self._drawn)
        for stored in self._batches:
            batch = self._loaded(stored)
            if stored.split != "train":
                yield stored.split, batch
                continue
            codes = bytes(islice(drawn, stored.size))
            for code in sorted(set(codes)):
                yield SPLITS[code], batch.taken([other == code for other in codes])


def _named_split(record: TableRow) -> Split:
    word = str(record.values[SPLIT_COLUMN])
    if word.lower() not in WORDS:
        raise UserError(
            f"{record.place}: the split '{word}' is none of train, valid and test.{did_you_mean(word, WORDS)}"
        )
    return WORDS[word.lower()]
