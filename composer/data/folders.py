"""A folder of recordings or pictures, a file an example: its class is in its path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from composer.data.filed import Filed
from composer.data.parts import Parts, Share
from composer.data.tables import Record

#: Where a file's class is written: the name of its folder, or its own name up to the first "_".
Naming = Literal["folder", "name"]


class Folder(Filed):
    """A subclass brings the codecs; the field ``source`` gets a path, ``target`` the name of its class."""

    def __init__(
        self, path: str | None, label: Naming, valid: Share, test: Share, seed: int, suffixes: tuple[str, ...]
    ) -> None:
        self.label = label
        self.parts = Parts(self._read, path, valid, test, seed=seed, suffixes=suffixes)

    def _read(self, path: Path) -> Iterator[Record]:
        name = path.resolve().parent.name if self.label == "folder" else path.stem.partition("_")[0]
        yield Record(path, 1, {"source": path, "target": name})
