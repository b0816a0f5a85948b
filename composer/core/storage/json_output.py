"""What programs read: answers as JSON, and the events of a training, a line of JSON for each (docs/json.md)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from threading import Lock
from typing import IO, Any

from composer.core.problems import tell_error
from composer.core.storage.atomic_files import finite

#: Raised when a key gets another meaning or goes away, and not for a new key.
VERSION = 1

#: The events with which a training ends. Every stream of events has one of them, as its last.
ENDINGS = ("finished", "stopped", "pruned", "failed")


def answer(data: Mapping[str, Any]) -> dict[str, Any]:
    """An answer to a program: plain data with the version in front, and null in the place of NaN and infinity."""
    return {"version": VERSION, **finite(data)}


@contextmanager
def errors_as_json(wanted: bool = True) -> Iterator[None]:
    """Within a ``with`` block, UserErrors are answered as JSON, too, on standard output, if this is wanted."""
    before = tell_error.set(_print_error if wanted else None)
    try:
        yield
    finally:
        tell_error.reset(before)


def _print_error(error: Mapping[str, Any]) -> None:
    print(json.dumps(answer({"error": error}), indent=2, ensure_ascii=False), flush=True)


#: The exit code of a program that a signal ended is this plus the signal's number.
SIGNALLED = 128


class Events:
    """The events of a training, a run or a sweep, as lines of JSON.

    folder: of the run or the sweep, as soon as it is known
    ended: whether one of ``ENDINGS`` was written
    """

    def __init__(self, file: IO[str]) -> None:
        self.file = file
        self.folder: str | None = None
        self.ended = False
        self.lock = Lock()  # a sweep's progress is written by a thread

    def write(self, event: str, **facts: Any) -> None:
        self.folder = facts.get("folder", self.folder)
        self.ended = self.ended or event in ENDINGS
        if event in ENDINGS:
            facts = {"folder": self.folder, **facts}
        line = json.dumps(answer({"event": event, **facts}), ensure_ascii=False, default=str)
        with self.lock, suppress(OSError):  # whose reader has gone, or has no room; the training goes on
            self.file.write(f"{line}\n")
            self.file.flush()

    def fail(self, error: Mapping[str, Any], exit_code: int = 2) -> None:
        """The end by an error, or by a signal, which has an exit code of its own."""
        if not self.ended:
            self.write("failed" if exit_code < SIGNALLED else "stopped", exit_code=exit_code, error=error)


#: Where the events of this process go; None where nobody asked for them.
events: ContextVar[Events | None] = ContextVar("events", default=None)


@contextmanager
def events_on_stdout() -> Iterator[None]:
    """Within a ``with`` block, standard output has events only, and ends with one of ``ENDINGS``.

    Whatever else is printed, by this process or by those that it starts, goes to standard error.
    """
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    with open(kept, "w", encoding="utf-8", closefd=False) as file:
        stream = Events(file)
        before = events.set(stream), tell_error.set(stream.fail)
        try:
            yield
        except SystemExit as stop:
            if stop.code not in (None, 0):
                code = stop.code if isinstance(stop.code, int) else 1
                stream.fail(_unsaid(f"ended with code {code}. Standard error says why."), code)
            raise
        except BaseException as error:
            stream.fail(_unsaid(f"{type(error).__name__}: {error}"), 130 if isinstance(error, KeyboardInterrupt) else 1)
            raise
        finally:
            events.reset(before[0])
            tell_error.reset(before[1])
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)


def _unsaid(message: str) -> dict[str, Any]:
    """An error that is not the user's."""
    return {"message": message, "problems": []}
