"""A trial: one training run of a sweep, in a folder of its own, trained by at most one process at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from composer.core.locks import locked
from composer.core.problems import UserError
from composer.training.run.folder import RunFolder

#: The statuses of a trial that is not run again.
DONE = ("finished", "failed", "pruned")

#: The file in a folder that the process holds which works there.
LOCK = ".lock"


@dataclass(frozen=True)
class Trial:
    """
    number: unique within the sweep
    name: of the trial's folder
    overrides: all that the trial's config is composed from
    parameters: the values that the sweep varies, by the keys of their overrides
    """

    number: int
    name: str
    overrides: tuple[str, ...]
    parameters: Mapping[str, Any]
    phase: Literal["grid", "tuning", "final"] = "grid"

    def facts(self) -> dict[str, Any]:
        """What run.json says of a trial before it is trained."""
        own = {"number": self.number, "phase": self.phase, "parameters": dict(self.parameters)}
        return {"trial": own, "overrides": list(self.overrides), "status": "waiting"}


@contextmanager
def held(folder: Path, *, wait: bool = False) -> Iterator[IO[str] | None]:
    """Hold a folder for this process: the locked file, or None if another process holds the folder.

    The lock ends with the process, however it ends. A child process that inherits the file shares the lock.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            file = stack.enter_context(locked(folder / LOCK, wait=wait))
        except OSError as error:
            raise UserError(
                f"cannot lock '{folder / LOCK}': {error.strerror}. A sweep needs a file system with locks (flock)."
            ) from error
        yield file


def fail(place: RunFolder, reason: str) -> None:
    """Record that a trial has failed, with the reason."""
    place.note({"status": "failed", "reason": reason})


def judged_value(facts: Mapping[str, Any], metric: str) -> float:
    """The judged metric of a trial's best checkpoint, or of its last step if nothing was validated; NaN without one."""
    result = facts.get("result") or {}
    value = result.get(metric, result.get(metric.removeprefix("valid/")))
    return math.nan if value is None or facts.get("status") == "failed" else float(value)
