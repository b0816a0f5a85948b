"""The command data --cache: the tokenised data that is kept between runs."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer.cli.options import output
from composer.core.problems import UserError
from composer.views.tables import Column, text_table

if TYPE_CHECKING:
    from composer.data.cache import Stored

#: What an entry holds, in words.
PARTS = {"learned": "vocabulary", "packed": "tokens", "tokens": "tokens"}


def run_cache(options: argparse.Namespace) -> None:
    """Show all entries, or remove them (``--cache clear``)."""
    from composer.data.cache import CacheFolder

    folder = CacheFolder.find()
    if folder is None:
        raise UserError("the cache is switched off: the environment variable COMPOSER_CACHE is 'off'.")
    try:
        found = folder.clear() if options.cache == "clear" else list(folder.entries())
    except OSError as error:
        raise UserError(f"the cache '{folder.path}' cannot be read or changed: {error.strerror}.") from error
    if options.cache == "clear":
        text = f"removed {counted(found)} from {folder.path}"
    else:
        rows = [row(entry) for entry in sorted(found, key=lambda entry: -entry.used)]
        table = text_table([Column("size", right=True), "last used", "holds"], rows) + "\n\n" if rows else ""
        text = f"{table}{counted(found)} in {folder.path}"
    output(options, lambda: {"folder": str(folder.path), "entries": [as_data(entry) for entry in found]}, lambda: text)


def as_data(entry: Stored) -> dict[str, Any]:
    """An entry as plain data."""
    about = entry.about or {}
    section, part = about.get("section", {}), about.get("part")
    files = [path for path, _, _ in about.get("files", [])]
    return {
        "key": entry.key, "finished": entry.about is not None, "bytes": entry.size, "used": entry.used, "part": part,
        "type": section.get("type"), "files": files,
    }  # fmt: skip


def row(entry: Stored) -> tuple[str, str, str]:
    """The size of an entry, when the entry was used, what it holds and of which files."""
    data = as_data(entry)
    files = [Path(file) for file in data["files"]]
    if not data["finished"]:
        what = "not finished: the next start on the same data goes on with it"
    else:
        what = f"{PARTS.get(data['part'], data['part'])} of {data['type']}: {files[0] if files else ''}"
        what += f" and {len(files) - 1:,} more files" * (len(files) > 1)
    return size(entry.size), time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.used)), what


def counted(entries: Sequence[Stored]) -> str:
    entry = "entry" if len(entries) == 1 else "entries"
    return f"{len(entries)} {entry}, {size(sum(one.size for one in entries))},"


def size(count: int) -> str:
    return f"{count / 2**20:,.1f} MB" if count < 2**30 else f"{count / 2**30:,.1f} GB"
