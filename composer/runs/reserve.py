"""Bytes that a run holds on the disk and frees at its end, so that a full disk has room for the run's status."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import IO

#: The number of bytes: run.json, and a temporary file beside it.
RESERVED = 65536


def reserve(folder: Path) -> IO[bytes]:
    """A file without a name in a folder, which holds the bytes until it is closed, or until the process dies."""
    file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - the caller closes it
    try:
        content = os.urandom(RESERVED)  # random, because a file system may compress
        if file.write(content) < len(content):  # a disk that is nearly full takes a part
            file.write(content)  # which raises
    except OSError:
        file.close()
        raise
    return file
