"""The files that a checkpoint's config names. A checkpoint of somebody else may not choose which files are read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from composer.core.examples import is_example
from composer.core.problems import UserError

#: The keys of a data section that name files or data sets.
KEYS = ("path", "name", "valid", "test")


def check_named(section: Mapping[str, Any], named: Collection[str], *, whole: bool) -> None:
    """Raise a UserError unless the user has named every file that the data would be read from.

    The example files of this package may be read: they are the same on every machine.

    section: the ``data`` section of a checkpoint that this user has not signed, with the user's overrides
    named: the keys that the user has given, e.g. data.path
    whole: whether all rows of ``path`` are read, so that the files of other splits are not
    """
    if "data" in named:
        return
    unread = ("data.valid", "data.test") if whole else ()
    found = {key: text for key, text in files_of(section) if key not in named and key not in unread}
    if found:
        given = " ".join(f"{key}={text}" for key, text in found.items())
        raise UserError(
            f"this model was not trained here, and its config names files ({given}). A checkpoint cannot choose which "
            "files of this machine are read. Name yours: data.path=...; the files of its config, if you want these, "
            "with --split for one of their splits."
        )


def files_of(section: Any, path: str = "data") -> Iterator[tuple[str, str]]:
    """The texts of a data section that name files: those of the usual keys, and whatever looks like a path."""
    for key, value in section.items() if isinstance(section, Mapping) else ():
        here = f"{path}.{key}"
        if isinstance(value, str) and (here in {f"data.{name}" for name in KEYS} or _like_path(value)):
            if not is_example(value):
                yield here, value
        elif isinstance(value, Mapping):
            yield from files_of(value, here)


def _like_path(text: str) -> bool:
    return len(text) > 1 and ("/" in text or "\\" in text or text.startswith("~"))
