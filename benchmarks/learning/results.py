"""What runs reached, kept as a line of JSON a run, so that a benchmark that was interrupted goes on where it was."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.learning.task import Task

#: Significant digits that are kept.
DIGITS = 6


@dataclass(frozen=True)
class Point:
    """Figures on the validation split after so many steps, which took so many seconds, and so many of the CPU."""

    step: int
    seconds: float
    cpu_seconds: float
    figures: dict[str, float]

    def reaches(self, figure: str, value: float) -> bool:
        return self.figures.get(figure, -math.inf) >= value


@dataclass(frozen=True)
class Run:
    """
    factor: what the usual learning rate was multiplied by, which gave ``rate``
    points: none where the loss was no number before the first
    """

    task: str
    arm: str
    steps: int
    factor: float
    rate: float
    seed: int
    parameters: int
    points: list[Point]

    @property
    def key(self) -> tuple[str, str, int, float, int]:
        return self.task, self.arm, self.steps, self.factor, self.seed

    def best(self, task: Task) -> Point:
        """The point that a run's best checkpoint would be from."""
        none = Point(self.steps, math.nan, math.nan, {})
        return min(self.points, key=lambda point: task.cost(point.figures), default=none)

    def reached(self, figure: str, value: float) -> int | None:
        """The first step measured at which a figure had come up to a value."""
        return next((point.step for point in self.points if point.reaches(figure, value)), None)

    def to_json(self) -> str:
        return json.dumps({**vars(self), "rate": rounded(self.rate), "points": [_to_json(p) for p in self.points]})

    @classmethod
    def from_json(cls, line: str) -> Run:
        values: dict[str, Any] = json.loads(line)
        return cls(**{**values, "points": [_from_json(point) for point in values["points"]]})


def rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _to_json(point: Point) -> dict[str, float]:
    times = {"seconds": point.seconds, "cpu_seconds": point.cpu_seconds}
    return {"step": point.step, **{name: rounded(value) for name, value in (times | point.figures).items()}}


def _from_json(values: dict[str, Any]) -> Point:
    return Point(values.pop("step"), values.pop("seconds"), values.pop("cpu_seconds"), values)


def read_runs(path: Path) -> list[Run]:
    """The runs in a file, or none where there is no file; a last line that was cut off is left out."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").split("\n")
    return [Run.from_json(line) for line in lines[:-1] if line]


def append_run(path: Path, run: Run) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.read_bytes().endswith(b"\n"):  # a line was cut off
        whole = path.read_bytes()
        path.write_bytes(whole[: whole.rfind(b"\n") + 1])
    with path.open("a", encoding="utf-8") as file:
        file.write(run.to_json() + "\n")


def best_factor(task: Task, runs: Iterable[Run], seed: int) -> float | None:
    """The factor with which one arm did best with this seed; None where it never ran."""
    tried = [run for run in runs if run.seed == seed]
    return min(tried, key=lambda run: task.cost(run.best(task).figures)).factor if tried else None
