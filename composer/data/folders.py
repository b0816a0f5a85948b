"""A folder of recordings or pictures: every file is an example, and its path contains its class."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Literal

from composer.data.file_source import FileSource
from composer.data.splits import Share, Splits
from composer.data.tables import TableRow

#: Where the class of a file is written: in the name of its folder, or in its own name up to the first "_". With "auto",
#: the folder, unless all files are in the same folder.
Naming = Literal["auto", "folder", "name"]


class Folder(FileSource):
    """A subclass sets the codecs. The value of the field ``source`` is a path, that of ``target`` a class name."""

    def __init__(
        self, path: str | None, label: Naming, valid: Share, test: Share, seed: int, suffixes: tuple[str, ...]
    ) -> None:
        self.label = label
        self.parts = Splits(self._read, path, valid, test, seed=seed, suffixes=suffixes)

    def _read(self, path: Path) -> Iterator[TableRow]:
        name = path.resolve().parent.name if self._by_folder else path.stem.partition("_")[0]
        yield TableRow(path, 1, {"source": path, "target": name})

    @cached_property
    def _by_folder(self) -> bool:
        if self.label != "auto":
            return self.label == "folder"
        return len({path.resolve().parent for path in self.parts.files["train"]}) > 1
