"""The files that a ``data`` section names: the one place that lists the keys of sources which name files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

#: The keys of data sources that name files, folders, glob patterns or data sets. A test opens every source to hold
#: this list true.
FILES = ("path", "name", "hub", "valid", "test", "labels")


def files_of(section: Any, path: str = "data") -> Iterator[tuple[str, str]]:
    """The texts of a section that name files, by their keys: those of ``FILES``, and whatever looks like a path.

    A source of a mixture is a section of its own, or a path.
    """
    for key, value in section.items() if isinstance(section, Mapping) else ():
        here = f"{path}.{key}"
        if key in FILES and isinstance(value, str):
            yield here, value
        elif key == "sources" and isinstance(value, Mapping):
            for name, source in value.items():
                inner = f"{here}.{name}"
                yield from [(inner, source)] if isinstance(source, str) else files_of(source, inner)
        elif key in ("each", "hub"):
            yield from files_of(value, here)
        else:
            yield from ((place, text) for place, text in texts_of(value, here) if like_path(text))


def texts_of(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """The texts inside nested mappings and lists, by their keys."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping | list):
        for key, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from texts_of(item, f"{path}.{key}")


def like_path(text: str) -> bool:
    return len(text) > 1 and ("/" in text or "\\" in text or text.startswith("~"))
