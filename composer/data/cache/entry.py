"""An entry of the cache: plain facts, and packed rows whose values are mapped into memory.

An entry is a folder. ``about.json`` holds the facts, and names all other files with their sizes and checksums. The
folder is written under another name and renamed when all of its files are on disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from composer.core.storage.atomic_files import flush
from composer.data.packed.packed_rows import CannotKeep, PackedRows, mapped

ABOUT = "about.json"

#: The blocks of a large file that its checksum covers, and their size: a start may not read the whole file.
BLOCKS, BLOCK = 64, 2**16


#: The types of values by their names.
DTYPES = {str(dtype): dtype for dtype in (torch.int16, torch.int32, torch.int64, torch.float32, torch.uint8)}


class DamagedEntry(Exception):
    """An entry that is not what was written."""


@dataclass
class Entry:
    """
    facts: what was learned and found, as plain data for JSON
    rows: packed rows by name
    kept: whether the entry may be kept for later runs
    fresh: whether the entry was made by this process; otherwise it was read from the cache
    """

    facts: dict[str, Any]
    rows: dict[str, PackedRows] = field(default_factory=dict)
    kept: bool = True
    fresh: bool = True


def values_file(folder: Path | None, number: int) -> Path | None:
    """The file for the values of the packed rows that are the ``number``-th of an entry; None without a folder."""
    return None if folder is None else folder / f"{number}.values"


def write_entry(folder: Path, entry: Entry, about: dict[str, Any], place: Path) -> None:
    """Write an entry into ``folder``, where its values are already, and rename the folder to ``place``."""
    try:
        plain = json.loads(json.dumps(entry.facts)) == entry.facts
    except TypeError:
        plain = False
    if not plain:
        raise CannotKeep("what was learned is not plain data")
    arrays, kept = [], []
    try:
        for number, (name, rows) in enumerate(entry.rows.items()):
            values, offsets = folder / f"{number}.values", folder / f"{number}.offsets"
            rows.offsets.numpy().tofile(offsets)
            arrays.append({"name": name, "dtype": str(rows.flat.dtype), "width": list(rows.flat.shape[1:])})
            kept += [values, offsets]
        for file in set(folder.iterdir()) - set(kept):
            file.unlink()
        sizes = {file.name: [file.stat().st_size, checksum(file)] for file in kept}
        facts = {"made": time.time(), "facts": entry.facts, "files_of_entry": sizes, "arrays": arrays}
        body = json.dumps(about | facts)
        (folder / ABOUT).write_text(f"{hashlib.sha256(body.encode()).hexdigest()}\n{body}", encoding="utf-8")
        for file in (*kept, folder / ABOUT):
            flush(file)
        flush(folder)
        shutil.rmtree(place, ignore_errors=True)
        os.rename(folder, place)
        flush(place.parent)
    except OSError as error:
        raise CannotKeep(error.strerror or str(error)) from error


def read_about(place: Path) -> dict[str, Any]:
    """What an entry says about itself. A missing entry is a FileNotFoundError."""
    found, _, body = (place / ABOUT).read_bytes().partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != found:
        raise DamagedEntry(ABOUT)
    return json.loads(body)


def read_entry(place: Path) -> Entry:
    """Map an entry. A missing entry is a FileNotFoundError; one that was changed raises DamagedEntry."""
    about = read_about(place)
    for name, (size, found) in about["files_of_entry"].items():
        file = place / name
        if not file.is_file() or file.stat().st_size != size or checksum(file) != found:
            raise DamagedEntry(name)
    rows = {}
    for number, array in enumerate(about["arrays"]):
        with (place / f"{number}.values").open("rb") as values, (place / f"{number}.offsets").open("rb") as offsets:
            flat = mapped(values, DTYPES[array["dtype"]], tuple(array["width"]))
            rows[array["name"]] = PackedRows(flat, mapped(offsets, torch.int64))
    os.utime(place)  # when the entry was used
    return Entry(about["facts"], rows, fresh=False)


def checksum(path: Path) -> int:
    """A checksum of a file: of the whole file, or of blocks that are spread over it evenly, its end included."""
    size, found = path.stat().st_size, 0
    with path.open("rb") as file:
        if size <= BLOCKS * BLOCK:
            return zlib.crc32(file.read())
        for block in range(BLOCKS):
            file.seek((size - BLOCK) * block // (BLOCKS - 1))
            found = zlib.crc32(file.read(BLOCK), found)
    return found
