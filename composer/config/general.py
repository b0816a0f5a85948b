"""The keys of train.yaml that belong to no section: seed, names, folders. Their types are checked in one place.

A number is a name, too (``name=5``): it becomes the text that it was written as.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from composer.core.binding import FAILED, bind_value
from composer.core.names import name_problem, path_problem
from composer.core.problems import Problem, Report

#: torch's generators take a seed of 64 bits.
SEEDS = range(-(2**63), 2**63)

Text = str | int | float
TYPES: dict[str, Any] = {
    "seed": int,
    "plugins": list[str] | None,
    "runs": Text,
    "name": Text | None,
    "group": Text | None,
    "arm": Text | None,
    "budget": dict[str, Any] | None,
    "resume": Text | None,
}

CHECKS: dict[str, Callable[[str], str | None]] = {
    "runs": path_problem, "resume": path_problem, "name": name_problem, "group": name_problem, "arm": name_problem,
}  # fmt: skip

#: The keys of a config without which no run can be described or trained.
REQUIRED = ("seed", "runs", "data", "model", "objective", "optimiser", "schedule", "training", "trainer")


def bind_general(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The values of these keys, with names and paths as texts, and every problem with them."""
    report, bound = Report(), {}
    for key in REQUIRED:
        if key not in values:
            report.add(key, "is missing, and no run can do without it. Do not remove it.")
    for key, expected in TYPES.items():
        if key not in values:
            continue
        value = bind_value(key, values[key], expected, key, report)
        if value is FAILED:
            continue
        if key in CHECKS and value is not None:
            value = str(value)
            if (problem := CHECKS[key](value)) is not None:
                report.add(key, problem)
        if key == "seed" and value not in SEEDS:
            report.add(key, f"expected a whole number of 64 bits (18 digits are fine), found one of {digits(value)}.")
        bound[key] = value
    return bound, report.problems


def digits(number: int) -> str:
    return f"{len(str(abs(number)))} digits"


def unasked_plugins(values: Mapping[str, Any], origin: str | None) -> list[Problem]:
    """Plugins are code, so those of a YAML file, which may be somebody else's, have to be on the command line, too.

    origin: the config that set ``plugins``, or 'command line'
    """
    plugins = values.get("plugins")
    if not isinstance(plugins, list) or not plugins or origin == "command line":
        return []
    message = "a file cannot choose code to run. If you trust this code, name it on the command line, too: "
    return [Problem("plugins", f"{message}'plugins=[{','.join(map(str, plugins))}]'")]
