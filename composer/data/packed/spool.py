"""The records of large files in a temporary file, from which they are read again much faster.

Vocabularies, splits and packing take several passes over all records.
"""

from __future__ import annotations

import json
import os
import tempfile
import weakref
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from composer.data.packed.packed_rows import cannot_spill
from composer.data.tables.table import TableRow

#: The number of records that are written at a time.
CHUNK = 1000

#: The types of values that JSON keeps.
PLAIN = (str, int, float, list, dict, type(None))


class Spool:
    """Records that were written once, by their files. A single temporary file holds the records of all files."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile(buffering=0, prefix="composer-", suffix=".records")  # noqa: SIM115
        weakref.finalize(self, self.file.close)
        self.end = 0
        self.chunks: dict[Path, list[tuple[int, int]]] = {}  # offset and size of every chunk

    def __contains__(self, path: Path) -> bool:
        return path in self.chunks

    def fill(self, path: Path, records: Iterator[TableRow]) -> Iterator[TableRow]:
        """The same records, which are written on the way, and kept if all of them are read."""
        chunks = []
        while chunk := list(islice(records, CHUNK)):
            names = list(chunk[0].values)
            rows = [(record.line, *record.values.values()) for record in chunk]
            chunks.append(self._write(json.dumps([names, rows]).encode()))
            yield from chunk
        self.chunks[path] = chunks

    def _write(self, content: bytes) -> tuple[int, int]:
        place = self.end, len(content)
        self.end += len(content)
        left, offset = memoryview(content), place[0]
        try:
            while left:
                written = os.pwrite(self.file.fileno(), left, offset)
                left, offset = left[written:], offset + written
        except OSError as error:
            raise cannot_spill(error.strerror) from error
        return place

    def read(self, path: Path) -> Iterator[TableRow]:
        for offset, size in self.chunks[path]:
            names, rows = json.loads(os.pread(self.file.fileno(), size, offset))
            for line, *values in rows:
                yield TableRow(path, line, dict(zip(names, values, strict=True)))


def spoolable(record: TableRow) -> bool:
    """Whether the values of a file with such a record can be kept, which are all of the same types."""
    return all(isinstance(value, PLAIN) for value in record.values.values())
