"""Atomic file writes: a crash leaves the old file or the new file, never a part of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from composer.core.problems import UserError


def write_text(path: Path, text: str) -> None:
    """Write the text in UTF-8, atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    try:
        with replacing(path) as file:
            file.write(content)
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}.") from error


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A temporary file in the same folder; without an error it is flushed and renamed to ``path``."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o644)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush a folder to disk, so that a rename inside it survives a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
