"""The records of a large file in a temporary file, from which they are read again much faster.

Vocabularies, splits and packing take several passes over all records.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import weakref
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from composer.data.packed_rows import cannot_spill
from composer.data.tables import TableRow

#: The number of records that are written at a time.
CHUNK = 1000

#: The types of values that take about as much space as in the user's file.
PLAIN = (str, int, float, list, dict, type(None))


class Spool:
    """Records that were written once, of one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = tempfile.TemporaryFile(buffering=0, prefix="composer-", suffix=".records")  # noqa: SIM115
        weakref.finalize(self, self.file.close)
        self.places: list[tuple[int, int]] = []  # offset and size of every chunk

    def fill(self, records: Iterator[TableRow]) -> Iterator[TableRow]:
        """The same records, which are written on the way."""
        while chunk := list(islice(records, CHUNK)):
            names = list(chunk[0].values)
            rows = [(record.line, *record.values.values()) for record in chunk]
            content = pickle.dumps((names, rows), pickle.HIGHEST_PROTOCOL)
            self._write(content)
            yield from chunk

    def _write(self, content: bytes) -> None:
        try:
            self.file.write(content)
        except OSError as error:
            raise cannot_spill(error.strerror) from error
        begin = sum(self.places[-1]) if self.places else 0
        self.places.append((begin, len(content)))

    def read(self) -> Iterator[TableRow]:
        for offset, size in self.places:
            names, rows = pickle.loads(os.pread(self.file.fileno(), size, offset))
            for line, *values in rows:
                yield TableRow(self.path, line, dict(zip(names, values, strict=True)))


def spoolable(record: TableRow) -> bool:
    return all(isinstance(value, PLAIN) for value in record.values.values())
