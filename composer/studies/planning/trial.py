"""A trial: one training run of a sweep, in a folder of its own, trained by at most one process at a time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: The statuses of a trial that is not run again.
DONE = ("finished", "failed", "pruned")


@dataclass(frozen=True)
class Trial:
    """
    number: unique within the sweep
    name: of the trial's folder
    overrides: all that the trial's config is composed from
    parameters: the values that the sweep varies, by the keys of their overrides
    about: what else run.json says of the run from its beginning on: of a study's run its arm and seed, the tuning that
        a tuning run is part of, and for a final run ``untuned``, why its arm is not tuned
    """

    number: int
    name: str
    overrides: tuple[str, ...]
    parameters: Mapping[str, Any]
    phase: Literal["grid", "tuning", "final"] = "grid"
    about: Mapping[str, Any] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """The fields of ``RunRecord`` that are known of a trial before it is trained."""
        own = {"number": self.number, "phase": self.phase, "parameters": dict(self.parameters)}
        return {"trial": own, **self.about, "overrides": list(self.overrides), "status": "waiting"}


def trial_rank(status: str, value: float, direction: str) -> tuple[int, float]:
    """The order of trials in a table: running ones, then finished ones from the best to the worst, then the others."""
    order = {"running": 0, "finished": 1, "pruned": 2, "failed": 3}
    return order.get(status, 4), math.inf if math.isnan(value) else value if direction == "min" else -value
