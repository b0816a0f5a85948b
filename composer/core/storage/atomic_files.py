"""Atomic file writes: a crash leaves the old file or the new file, never a part of one."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from composer.core.problems import UserError

#: How the name of a temporary file ends. A killed process leaves such a file behind.
TEMPORARY = ".tmp"


def write_text(path: Path, text: str) -> None:
    """Write the text in UTF-8, atomically."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    try:
        with replaced(path) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}.") from error


def write_json(path: Path, content: object) -> None:
    """Write JSON, atomically. JSON has neither NaN nor infinity: null is written in their place."""
    write_text(path, json.dumps(finite(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def finite(content: Any) -> Any:
    """Plain data with None in the place of every number that is NaN or infinite."""
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, Mapping):
        return {name: finite(value) for name, value in content.items()}
    return [finite(value) for value in content] if isinstance(content, list | tuple) else content


@contextmanager
def replaced(path: Path, previous: Path | None = None) -> Iterator[Path]:
    """An empty temporary file in the same folder; without an error it is flushed and renamed to ``path``.

    previous: the path at which the file before it is kept, if there is one
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=TEMPORARY)
    os.close(handle)
    try:
        yield Path(name)
        flush(Path(name))
        os.chmod(name, 0o644)
        if previous is not None and path.exists():
            keep(path, previous)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
    flush(path.parent)


def keep(path: Path, previous: Path) -> None:
    """Give a file a second name, in the place of the file that has it. At every instant the file has one of them."""
    link = previous.with_name(f".{previous.name}.link{TEMPORARY}")
    link.unlink(missing_ok=True)
    try:
        os.link(path, link)
    except OSError:  # a file system without hard links
        os.replace(path, previous)
    else:
        os.replace(link, previous)


def check_links(place: Path, within: Path) -> Path:
    """``place``, to be written to. A UserError if it, or an entry of it, is a link that leads out of ``within``.

    A folder may be somebody else's, and its links must not choose where on this machine something is written.
    """
    home = Path(os.path.realpath(within))
    entries = sorted(place.iterdir()) if place.is_dir() else []
    for path in (place, *entries):
        if not Path(os.path.realpath(path)).is_relative_to(home):
            raise UserError(
                f"'{path}' is a link that leads out of '{within}', to '{os.path.realpath(path)}'. Nothing is written "
                "through such a link, which may be somebody else's. Remove it, or put what it leads to in its place."
            )
    return place


def remove_temporary(folder: Path) -> None:
    """Remove the files of a folder that killed processes did not finish writing. No other process may write there."""
    for pattern in (f".*{TEMPORARY}", ".tmp*"):  # the latter are those of safetensors
        for incomplete in folder.glob(pattern):
            incomplete.unlink(missing_ok=True)


def flush(path: Path) -> None:
    """Flush a file to disk, or a folder, so that a rename inside it survives a power failure."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
