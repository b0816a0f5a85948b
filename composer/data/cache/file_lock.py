"""The lock of a file of the cache, which the process that holds the lock may delete (``flock``)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def held_file(path: Path, *, wait: bool = False) -> Iterator[IO[str] | None]:
    """Hold the lock of a file, which is made if it is missing and may be deleted by the process that holds it.

    Yields the open file, or None if another process holds the lock and ``wait`` is not set.
    """
    while True:
        with path.open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield None
                return
            if not _is(file, path):
                continue  # the file was deleted while this process waited, so that its lock excludes nobody
            yield file
            return


def _is(file: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
