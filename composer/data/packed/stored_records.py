"""The records of the user's files, kept for the passes that follow the first: in memory, or in a temporary file.

Splits, vocabularies and packing take several passes over all records; a file is read and checked in the first alone.
"""

from __future__ import annotations

import pickle
import tempfile
import weakref
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from composer.data.packed.packed_rows import cannot_spill
from composer.data.tables.table import TableRow

#: The number of records that are written at a time.
CHUNK = 1000

#: The number of bytes above which records are written to a file.
HELD = 32 * 2**20


class StoredRecords:
    """Records by their files. Those of all files are in one buffer, which becomes a temporary file when it is large."""

    def __init__(self) -> None:
        self._buffer = tempfile.SpooledTemporaryFile(max(HELD, 1), prefix="composer-", suffix=".records")  # noqa: SIM115
        weakref.finalize(self, self._buffer.close)
        self._end = 0
        self._chunks: dict[Path, list[int]] = {}  # where every chunk begins

    def of(self, file: Path, read: Callable[[Path], Iterator[TableRow]]) -> Iterator[TableRow]:
        """The records of a file, which ``read`` reads the first time. They are kept if all of them are used."""
        if file in self._chunks:
            for place in self._chunks[file]:
                self._buffer.seek(place)
                yield from pickle.load(self._buffer)
            return
        records, chunks = read(file), []
        while chunk := list(islice(records, CHUNK)):
            if any(isinstance(value, tuple) for value in chunk[0].values.values()):  # with an array, mapped already
                yield from chunk
                yield from records
                return
            chunks.append(self._write(chunk))
            yield from chunk
        self._chunks[file] = chunks

    def _write(self, chunk: list[TableRow]) -> int:
        """Write some records, and return where they begin."""
        place = self._end
        try:
            self._buffer.seek(place)
            pickle.dump(chunk, self._buffer, pickle.HIGHEST_PROTOCOL)
        except OSError as error:
            raise cannot_spill(error.strerror) from error
        self._end = self._buffer.tell()
        return place
