"""The files that a checkpoint's config names. A checkpoint of somebody else may not choose which files are read."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from composer.core.problems import UserError
from composer.core.storage.example_files import is_example
from composer.data.files.named_files import files_of


def check_named(section: Mapping[str, Any], named: Collection[str], *, whole: bool) -> None:
    """Raise a UserError unless the user has named every file that the data would be read from.

    The example files of this package may be read: they are the same on every machine.

    section: the ``data`` section of a checkpoint that this user has not signed, with the user's overrides
    named: the keys that the user has given, e.g. data.path
    whole: whether all rows of ``path`` are read, so that the files of other splits are not
    """
    if "data" in named:
        return
    found = {key: text for key, text in files_of(section) if key not in named and not is_example(text)}
    if whole:
        found = {key: text for key, text in found.items() if not key.endswith((".valid", ".test"))}
    if found:
        given = " ".join(f"{key}={text}" for key, text in found.items())
        raise UserError(
            f"this model was not trained here, and its config names files ({given}). A checkpoint cannot choose which "
            "files of this machine are read. Name yours: data.path=...; the files of its config, if you want these, "
            "with --split for one of their splits."
        )
