"""The folder of the cache: where it is, which entries it holds, and which of them are removed."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from composer.core.storage.user_cache import user_cache
from composer.data.cache.entry import DamagedEntry, read_about
from composer.data.files.remote import FOLDER

#: Entries that were not used for this number of days are removed when a new entry is written.
DAYS = 60

#: Beyond this number of bytes, the entries that were used least recently are removed.
MOST = 100 * 2**30

#: The suffix of an entry that is being written, and of the lock of an entry.
BUILDING, LOCK = ".building", ".lock"


@dataclass(frozen=True)
class Stored:
    """An entry on disk.

    about: what the entry says about itself; None where it is damaged or not finished
    used: when it was last used, in seconds since the epoch
    """

    key: str
    about: dict[str, Any] | None
    size: int
    used: float


class CacheFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def find(cls) -> CacheFolder | None:
        """The folder that the environment names; None where it switches the cache off."""
        path = user_cache()
        return None if path is None else cls(path)

    def place(self, key: str) -> Path:
        return self.path / key

    def building(self, key: str) -> Path:
        return self.path / f"{key}{BUILDING}"

    @contextmanager
    def locked(self, key: str, *, wait: bool = False) -> Iterator[Path]:
        """Hold the lock of an entry, whose file the holder may delete. A lock that another process holds is a
        ``filelock.Timeout``, or is waited for."""
        from filelock import FileLock, Timeout

        lock = FileLock(self.path / f"{key}{LOCK}")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if not wait:
                raise
            print("waiting for another process, which reads the same data", file=sys.stderr)
            lock.acquire()
        try:
            yield Path(lock.lock_file)
        finally:
            lock.release()

    def entries(self) -> Iterator[Stored]:
        """All entries, those that are not finished included."""
        for place in sorted(self.path.iterdir()) if self.path.is_dir() else ():
            if not place.is_dir() or place.name == FOLDER:
                continue
            try:
                size, used = sum(file.stat().st_size for file in place.iterdir()), place.stat().st_mtime
            except FileNotFoundError:
                continue  # another process changes or removes the entry
            about = None
            if place.suffix != BUILDING:
                with suppress(DamagedEntry, FileNotFoundError):
                    about = read_about(place)
            yield Stored(place.name.removesuffix(BUILDING), about, size, used)

    def remove(self, key: str) -> bool:
        """Remove an entry, finished or not, unless a process is writing it. Processes that have mapped it keep it."""
        from filelock import Timeout

        with suppress(Timeout), self.locked(key) as lock:
            for folder in (self.place(key), self.building(key)):
                shutil.rmtree(folder, ignore_errors=True)
            lock.unlink(missing_ok=True)
            return True
        return False

    def clear(self) -> list[Stored]:
        """Remove all entries that no process is writing, and return them; and the copies of remote files."""
        removed = [entry for entry in list(self.entries()) if self.remove(entry.key)]
        shutil.rmtree(self.path / FOLDER, ignore_errors=True)
        for lock in self.path.glob(f"*{LOCK}"):  # of data that was read and not kept
            self.remove(lock.stem)
        return removed

    def prune(self, kept: str) -> list[Stored]:
        """Remove entries that are too old or too many, never the one whose key is ``kept``."""
        oldest_first = sorted(self.entries(), key=lambda entry: entry.used)
        total, now = sum(entry.size for entry in oldest_first), time.time()
        removed = []
        for entry in oldest_first:
            old = now - entry.used > DAYS * 86400
            if entry.key != kept and (old or total > MOST) and self.remove(entry.key):
                total -= entry.size
                removed.append(entry)
        return removed
