"""What an entry of the cache depends on: the user's files, the values of the data section, and this program."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from composer.core import registry

#: The keys of a data section that change no example.
FREE = ("workers",)


class FileMark(NamedTuple):
    """A file as it was when it was read; a change of its size or time of modification makes it another file."""

    path: str
    size: int
    modified: int  # in nanoseconds


def marks(files: Iterable[Path]) -> list[FileMark]:
    """The marks of files. A file that cannot be looked up is an OSError."""
    found = []
    for file in files:
        status = file.stat()
        found.append(FileMark(str(file.resolve()), status.st_size, status.st_mtime_ns))
    return found


def entry_key(part: str, section: Mapping[str, Any], files: list[FileMark], more: Any) -> str:
    """The name of an entry.

    part: what the entry holds, such as 'learned'
    more: what else it depends on, as plain data
    """
    values = {name: value for name, value in section.items() if name not in FREE}
    tokenisers = plugin_files(registry.entries("tokeniser").values())
    return digest([program(), part, values, [*files, *marks(tokenisers)], more])[:32]


def plugin_files(parts: Iterable[Any]) -> list[Path]:
    """The files of plugins that define these fields, codecs or tokenisers, a change of which changes what is read."""
    names = {part.__module__ for part in parts}
    files = {sys.modules[name].__file__ for name in names if not name.startswith("composer.")}
    return sorted(Path(file) for file in files if file is not None)


def digest(value: Any) -> str:
    """A digest of plain data."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


@lru_cache(maxsize=1)
def program() -> str:
    """A digest of the code that reads data, so that no entry outlives a change of this code."""
    found = hashlib.sha256(version("tokenizers").encode())
    folder = Path(__file__).parents[1]
    for file in sorted(folder.rglob("*.py")):
        found.update(str(file.relative_to(folder)).encode())
        found.update(file.read_bytes())
    return found.hexdigest()
