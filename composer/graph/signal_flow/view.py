"""A measurement as plain data for programs, and its warnings in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from composer.core.problems import Locate, Problem
from composer.graph.signal_flow.limits import problems
from composer.graph.signal_flow.measurement import Measurement


def warnings(found: Sequence[Problem], locate: Locate) -> str:
    """The warnings for exceeded limits, each with its place in the config."""
    count = len(found)
    title = f"{count} warning{'s' * (count != 1)} about the signals of this graph:"
    return "\n".join([title, *(problem.render(locate) for problem in found)])


def as_data(measured: Measurement, locate: Locate) -> dict[str, Any]:
    """The measurement and its problems as plain data."""
    data: Mapping[str, Any] = asdict(measured)
    return {key: value for key, value in data.items() if key != "nodes"} | {
        "problems": [
            {"path": problem.path, "place": locate(problem.path), "message": problem.message}
            for problem in problems(measured)
        ]
    }
