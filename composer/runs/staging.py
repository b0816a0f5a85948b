"""The birth of a run's folder: it is filled under a hidden name, then renamed. A killed process leaves all or nothing.

The lock of the folder is taken before anything is written into it, and stays the same file through the renaming.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import IO

from composer.core.problems import UserError
from composer.core.storage.atomic_files import flush
from composer.runs.folder import RunFolder
from composer.runs.lock import LOCK, locked, opened
from composer.runs.reserve import reserve

#: How the hidden name begins of a folder that is not yet whole.
STAGING = ".new-"


def create_run_folder(
    runs: Path, name: str | float | None, fill: Callable[[RunFolder], object]
) -> tuple[RunFolder, IO[str]]:
    """Make the folder of a new run, by default named after the time, and hold its lock.

    fill: writes the files without which the folder is not that of a run
    """
    places = by_time(runs) if name is None else iter([runs / str(name)])
    place = next(places)
    if name is not None and place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise taken(place)
    folder, lock = staging(place.parent)
    try:
        folder.make()
        fill(folder)
        require_room(folder.path)
        while not renamed(folder.path, place):
            following = next(places, None)
            if following is None:
                raise taken(place)
            place = following
    except BaseException:
        shutil.rmtree(folder.path, ignore_errors=True)
        lock.close()
        raise
    return RunFolder(place), lock


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


def taken(place: Path) -> UserError:
    return UserError(
        f"name={place.name}: there is a '{place}' already. Choose another name, or go on with resume={place}."
    )


def staging(parent: Path) -> tuple[RunFolder, IO[str]]:
    """A new folder under a hidden name, and its lock. Folders of killed processes are removed first."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for left in parent.glob(f"{STAGING}*"):
            remove_dead(left)
        while True:
            path = parent / f"{STAGING}{uuid.uuid4().hex[:12]}"
            path.mkdir()
            lock = opened(path)
            if locked(lock, needed=False) and still_there(lock, path):
                return RunFolder(path), lock
            lock.close()  # between the two lines above, another process took the folder for a killed one's
    except OSError as error:
        raise UserError(f"cannot make the run's folder in '{parent}': {error.strerror}.") from error


def still_there(lock: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(lock.fileno()), (path / LOCK).stat())
    except FileNotFoundError:
        return False


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
