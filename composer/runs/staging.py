"""New folders of runs and sweeps: filled under a hidden name, then renamed. A killed process leaves all or nothing.

The lock of the folder is taken before anything is written into it, and stays the same file through the renaming.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import IO

from composer.core.problems import UserError
from composer.core.storage.atomic_files import flush
from composer.runs.folder import RunFolder
from composer.runs.lock import is_lock_of, locked, opened

#: How the hidden name begins of a folder that is not yet whole.
STAGING = ".new-"

#: The number of bytes held in reserve: run.json, and a temporary file beside it.
RESERVED = 65536


def create_run_folder(
    runs: Path, name: str | float | None, fill: Callable[[RunFolder], object]
) -> tuple[RunFolder, IO[str]]:
    """Make the folder of a new run, by default named after the time, and hold its lock.

    fill: writes the files without which the folder is not that of a run
    """
    places = by_time(runs) if name is None else iter([runs / str(name)])
    if name is not None and not is_free(runs / str(name)):
        raise taken(runs / str(name))

    def fill_run(path: Path) -> None:
        folder = RunFolder(path)
        folder.make()
        fill(folder)
        require_room(path)

    made, lock = create_folder(places, fill_run)
    return RunFolder(made), lock


def create_folder(places: Iterator[Path], fill: Callable[[Path], object]) -> tuple[Path, IO[str]]:
    """Make a folder with what ``fill`` writes into it at the first of these places that is free, and hold its lock."""
    first = next(places)
    path, lock = staging(first.parent)
    try:
        fill(path)
        for place in chain([first], places):
            if renamed(path, place):
                return place, lock
        raise taken(place)
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        lock.close()
        raise


def reserve(folder: Path) -> IO[bytes]:
    """Bytes that a run holds on the disk and frees at its end, so that a full disk has room for the run's status.

    A file without a name in the folder, which holds the bytes until it is closed, or until the process dies.
    """
    file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - the caller closes it
    try:
        content = os.urandom(RESERVED)  # random, because a file system may compress
        if file.write(content) < len(content):  # a disk that is nearly full takes a part
            file.write(content)  # which raises
    except OSError:
        file.close()
        raise
    return file


def require_room(path: Path) -> None:
    """Raise an error if the disk has no room for the bytes that a run holds in reserve."""
    try:
        reserve(path).close()
    except OSError as error:
        raise UserError(f"cannot write '{path.parent}': {error.strerror}. Make room for the run.") from error


def by_time(runs: Path) -> Iterator[Path]:
    stamp = datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    paths = (runs / (stamp if i == 1 else f"{stamp}_{i}") for i in count(1))
    return (path for path in paths if not path.exists())


def is_free(path: Path) -> bool:
    """Whether a run or a sweep can have its folder here: there is nothing, or an empty folder."""
    return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def taken(place: Path) -> UserError:
    return UserError(
        f"name={place.name}: there is a '{place}' already. Choose another name, or go on with resume={place}."
    )


def staging(parent: Path) -> tuple[Path, IO[str]]:
    """A new folder under a hidden name, and its lock. Folders of killed processes are removed first."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for left in parent.glob(f"{STAGING}*"):
            remove_dead(left)
        while True:
            path = parent / f"{STAGING}{uuid.uuid4().hex[:12]}"
            path.mkdir()
            lock = opened(path)
            if locked(lock, needed=False) and is_lock_of(path, lock.fileno()):
                return path, lock
            lock.close()  # between the two lines above, another process took the folder for a killed one's
    except OSError as error:
        raise UserError(f"cannot make the run's folder in '{parent}': {error.strerror}.") from error


def remove_dead(path: Path) -> None:
    """Remove a folder under a hidden name if no process holds its lock."""
    with suppress(UserError), opened(path) as lock:  # the folder of another user, or one that is just being removed
        if locked(lock):
            shutil.rmtree(path, ignore_errors=True)


def renamed(path: Path, place: Path) -> bool:
    """Rename a folder. Returns False if there is something else at the place by now."""
    try:
        os.rename(path, place)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            return False
        raise UserError(f"cannot make the run's folder '{place}': {error.strerror}.") from error
    flush(place.parent)
    return True
