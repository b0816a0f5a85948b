"""The keys of train.yaml that belong to no section: seed, names, folders. Their types are checked in one place.

A number is a name, too (``name=5``): it becomes the text that it was written as.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from composer.core.problems import UNRESOLVED, Problem, Report, show_value
from composer.core.storage.folder_names import name_problem, path_problem

#: torch's generators take a seed of 64 bits.
SEEDS = range(-(2**63), 2**63)

#: The keys that are no texts, what each is, and whether a value is that.
TYPES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "seed": ("a whole number", lambda value: type(value) is int),
    "plugins": ("a list of packages and .py files", lambda value: value is None or _texts(value)),
    "allow_paths": ("true or false", lambda value: isinstance(value, bool)),
    "budget": ("a mapping or null", lambda value: value is None or isinstance(value, Mapping)),
}

#: The keys that are texts, what each is, and how a text is checked.
TEXTS: dict[str, tuple[str, Callable[[str], str | None]]] = {
    "runs": ("a name", path_problem), "resume": ("a path", path_problem),
    "name": ("a name", name_problem), "group": ("a name", name_problem), "arm": ("a name", name_problem),
}  # fmt: skip

#: The keys of a config without which no run can be described or trained.
REQUIRED = ("seed", "runs", "data", "model", "objective", "optimiser", "schedule", "training", "trainer")


def bind_general(values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The values of these keys, with names and paths as texts, and every problem with them."""
    report, bound = Report(), {}
    for key in REQUIRED:
        if key not in values:
            report.add(key, "is missing, and no run can do without it. Do not remove it.")
    for key, (expected, fits) in TYPES.items():
        if key not in values or values[key] is UNRESOLVED:
            continue
        if fits(values[key]):
            bound[key] = values[key]
        else:
            report.add(key, f"expected {expected}, found {show_value(values[key])}.")
    if bound.get("seed", 0) not in SEEDS:
        found = len(str(abs(bound["seed"])))
        report.add("seed", f"expected a whole number of 64 bits (18 digits are fine), found one of {found} digits.")
    for key, (expected, check) in TEXTS.items():
        value = values.get(key)
        if value is UNRESOLVED or (value is None and key != "runs") or key not in values:
            continue
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            report.add(key, f"expected {expected}, found {show_value(value)}.")
            continue
        bound[key] = str(value)
        if (problem := check(bound[key])) is not None:
            report.add(key, problem)
    return bound, report.problems


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)
