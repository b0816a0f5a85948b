"""What the arms reached, kept as a line of JSON each, so that a benchmark that was interrupted goes on where it was."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Result:
    """
    figures: the metrics of the evaluated split, by name
    intervals: their 95 % intervals
    samples: predictions of the last validation
    command: as a user types it, with the names of the data's files
    before: the command of the run that has to come before, if there is one
    looked: what `composer inspect` answered
    """

    system: str
    arm: str
    command: str
    split: str
    steps: int
    parameters: int
    minutes: float
    figures: dict[str, float]
    intervals: dict[str, list[float]] = field(default_factory=dict)
    samples: list[dict[str, str]] = field(default_factory=list)
    before: str = ""
    looked: str = ""


def read_results(path: Path) -> dict[tuple[str, str], Result]:
    """The results by system and arm; of several lines, the last one holds."""
    if not path.is_file():
        return {}
    found = [Result(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return {(result.system, result.arm): result for result in found}


def keep(path: Path, result: Result) -> None:
    """Add or replace the line of an arm."""
    results = read_results(path) | {(result.system, result.arm): result}
    lines = [json.dumps(asdict(one), ensure_ascii=False) + "\n" for one in results.values()]
    temporary = path.with_suffix(".new")
    temporary.write_text("".join(lines), encoding="utf-8")
    temporary.replace(path)
