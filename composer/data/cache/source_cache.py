"""The door of the cache: a source asks here for what it would otherwise learn or pack from the user's files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from composer.core.problems import UserError
from composer.data.cache.entry import DamagedEntry, Entry, read_entry, write_entry
from composer.data.cache.folder import CacheFolder
from composer.data.cache.key import FileMark, entry_key, marks
from composer.data.packed.packed_rows import CannotKeep
from composer.data.workers import WorkersEnded

#: Files with fewer bytes in total are not worth an entry, because reading them takes no time.
LEAST = 8 * 2**20

#: Makes an entry. Its values may be written into the given folder; without a folder nothing is kept.
Make = Callable[[Path | None], Entry]


def learned_from(sources: Sequence[Any] | None) -> Any:
    """What a vocabulary depends on that the sources of a mixture learn together: their sections and files."""
    found = []
    for source in sources or ():
        if source.section is None or (files := source.inputs()) is None:
            raise CannotKeep("a source of the mixture reads files that are not known before its table is read")
        found.append([source.section, marks(files)])
    return found


class SourceCache:
    """What one source learns and packs, kept between runs.

    section: the source's data section; None where the source was not made from a config
    files: returns all files that the source reads; None where they are not known before they are read
    """

    def __init__(self, section: Mapping[str, Any] | None, files: Callable[[], list[Path] | None]) -> None:
        self.section, self.files = section, files
        self.remarks: list[str] = []  # what the user should know about the cache

    @property
    def large(self) -> bool:
        """Whether the files are so large that reading them takes a while."""
        return self._read_files() is not None

    def get(
        self, part: str, more: Callable[[], Any], make: Make, *, resumable: bool = False, free: tuple[str, ...] = ()
    ) -> Entry:
        """An entry of the cache, which is made and kept if there is none.

        One process makes an entry, and others wait for it.

        part: what the entry holds
        more: returns what the entry depends on besides the files and the section, as plain data
        free: the keys of the section on which the entry does not depend
        resumable: whether ``make`` can continue with what it has left in its folder when it was killed
        """
        folder, read = CacheFolder.find(), self._read_files()
        if folder is None or read is None or self.section is None:
            return make(None)
        depends = {name: value for name, value in self.section.items() if name not in free}
        try:
            key = entry_key(part, depends, read, more())
            if (found := self._recall(folder, key)) is not None:
                return found
            folder.path.mkdir(parents=True, exist_ok=True)
            with folder.locked(key, wait=True):
                found = self._recall(folder, key)  # another process may have made it before
                return found or self._made(folder, key, part, read, make, resumable)
        except (CannotKeep, OSError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            self._remark(f"no data is kept in '{folder.path}': {reason}. It is read anew at every start")
        return make(None)

    def _read_files(self) -> list[FileMark] | None:
        """The marks of all files; None where nothing is to be kept."""
        if self.section is None or (files := self.files()) is None:
            return None
        try:
            found = marks(files)
        except OSError:  # a file that is missing is reported where it is read
            return None
        return found if sum(mark.size for mark in found) >= LEAST else None

    def _recall(self, folder: CacheFolder, key: str) -> Entry | None:
        try:
            return read_entry(folder.place(key))
        except FileNotFoundError:
            return None
        except DamagedEntry as error:
            self._remark(f"'{folder.place(key)}' is damaged ({error}), so the data is read anew")
        return None

    def _made(
        self, folder: CacheFolder, key: str, part: str, read: list[FileMark], make: Make, resumable: bool
    ) -> Entry:
        """The entry, made while this process holds its lock."""
        building = folder.building(key)
        if not resumable:
            shutil.rmtree(building, ignore_errors=True)
        building.mkdir(exist_ok=True)
        resume = resumable  # where the process is interrupted, too
        try:
            entry = make(building)
            resume = False
            if entry.kept and self._read_files() == read:
                about = {"part": part, "section": dict(self.section or {}), "files": read}
                write_entry(building, entry, about, folder.place(key))
                self._remove_old(folder, key)
            elif entry.kept:
                self._remark("the files have changed while they were read, so what was read is not kept")
            return entry
        except (CannotKeep, OSError, UserError) as error:
            resume = resumable and isinstance(error, WorkersEnded)
            raise
        finally:
            if not resume:
                shutil.rmtree(building, ignore_errors=True)

    def _remove_old(self, folder: CacheFolder, key: str) -> None:
        try:
            removed = folder.prune(key)
        except OSError as error:
            self._remark(f"old entries of the cache '{folder.path}' cannot be removed: {error.strerror}")
            return
        if removed:
            size = sum(entry.size for entry in removed) / 2**20
            self._remark(f"{len(removed)} old entries ({size:,.0f} MB) were removed from the cache '{folder.path}'")

    def _remark(self, text: str) -> None:
        if f"{text}." not in self.remarks:
            self.remarks.append(f"{text}.")
