"""Locks on folders: one process works there at a time. The system releases a lock when its process ends.

The lock is that of ``flock``, which Linux shares among the machines of a network file system with locks (NFS). The
file in the folder says who holds it. filelock locks a file that we have opened: its ``FileLock`` would keep the open
file to itself, but a child process shares the lock by inheriting the file, and the file is not opened through a link.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from filelock import lock_descriptor

from composer.core.problems import UserError

#: The file in a folder that the process holds which works there.
LOCK = ".lock"

#: The file in the folder of a sweep that all processes share which work on the sweep.
WORKERS = ".workers"

#: Seconds after which a lock is tried once more: a look at it (``is_held``) has it for an instant.
LOOK = 0.05

#: The environment variable with the number of the locked file that a process has inherited.
INHERITED = "COMPOSER_LOCK"


@contextmanager
def folder_lock(folder: Path, *, wait: bool = False, needed: bool = True) -> Iterator[IO[str] | None]:
    """Hold a folder for this process: the locked file, or None if another process holds the folder.

    The lock ends with the process, however it ends. A child process that inherits the file shares the lock.

    needed: whether a file system without locks is an error; otherwise a note is printed, and nothing is locked there
    """
    folder.mkdir(parents=True, exist_ok=True)
    with opened(folder) as file:
        yield file if locked(file, wait=wait, needed=needed) else None


def opened(folder: Path) -> IO[str]:
    """The file of a folder's lock, not yet locked."""
    try:
        return open(folder / LOCK, "a+", encoding="utf-8", opener=_no_link)
    except OSError as error:
        raise UserError(f"cannot write '{folder / LOCK}': {error.strerror}.") from error


def _no_link(path: str, flags: int) -> int:
    """Opens a file, but not through a link: the folder may be somebody else's."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def locked(file: IO[str], *, wait: bool = False, needed: bool = True) -> bool:
    """Lock an open file, and write into it who holds it. Returns False if another process holds it."""
    try:
        if not lock_descriptor(file.fileno(), blocking=wait):
            time.sleep(LOOK)
            if not lock_descriptor(file.fileno(), blocking=False):
                return False
    except OSError as error:
        message = f"cannot lock '{file.name}': {error.strerror}."
        if needed:
            raise UserError(f"{message} A sweep needs a file system with locks (flock).") from error
        print(f"{message} Nothing keeps a second process from training this run.", file=sys.stderr)
    _sign(file)
    return True


def _sign(file: IO[str]) -> None:
    """Write into a locked file who holds it. Without room on the disk it stays empty, which is no harm."""
    try:
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
        file.flush()
    except OSError:
        file.seek(0)


@contextmanager
def attending(folder: Path) -> Iterator[None]:
    """Let others see (``is_attended``) that a process works on a sweep, which any number of them may do."""
    with ExitStack() as held:
        with suppress(OSError):  # a file system without locks, or without room: the sweep goes on, unseen
            file = held.enter_context(open(folder / WORKERS, "a+", opener=_no_link))
            fcntl.flock(file, fcntl.LOCK_SH)  # waits for a look at it, which takes an instant
        yield


def is_attended(folder: Path) -> bool:
    """Whether a process works on the sweep in a folder."""
    return _is_locked(folder / WORKERS)


def is_held(folder: Path) -> bool:
    """Whether a process holds a folder. Nothing is written there."""
    return _is_locked(folder / LOCK)


def _is_locked(path: Path) -> bool:
    try:
        with open(path, opener=_no_link) as file:
            return not lock_descriptor(file.fileno(), blocking=False)
    except FileNotFoundError:
        return False
    except OSError:  # nobody can tell
        return True


def holder(folder: Path) -> str:
    """Who holds a folder, for a sentence: 'process 123 on host'."""
    try:
        known: Any = json.loads((folder / LOCK).read_text(encoding="utf-8"))
        return f"process {known['pid']} on {known['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


def inherited(folder: Path) -> bool:
    """Whether this process has inherited the folder's lock from the process that started it (``pass_on``)."""
    number = os.environ.get(INHERITED, "")
    return number.isdecimal() and is_lock_of(folder, int(number))


def is_lock_of(folder: Path, descriptor: int) -> bool:
    """Whether an open file is that of a folder's lock, which another process may have removed."""
    try:
        return os.path.samestat(os.fstat(descriptor), (folder / LOCK).stat())
    except OSError:  # no file is open under this number, or none is in the folder
        return False


def pass_on(file: IO[str]) -> dict[str, str]:
    """The environment by which a child process finds the lock; the file has to be among its ``pass_fds``."""
    return {INHERITED: str(file.fileno())}
