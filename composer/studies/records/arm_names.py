"""Names of arms: what sets a run apart from the runs that it is compared with, apart from its seed."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from composer.studies.records.run_records import ComparedRun

#: Keys whose overrides change no result but by chance, and those that a sweep adds.
NEUTRAL = ("seed", "runs", "name", "group", "arm", "budget", "resume", "logger", "hydra")

#: The name of an arm without overrides of its own.
DEFAULTS = "defaults"

#: Of an arm that is alone, so many characters of overrides are its name, or so many of its choices from groups.
ALONE, CHOICES = 40, 3

Key = TypeVar("Key", bound=Hashable)


def name_arms(runs: Sequence[ComparedRun]) -> list[ComparedRun]:
    """The runs with the names of their arms.

    A study has named its arms. Other runs are named by the overrides that not all of them share.
    """
    own = [run for run in runs if not run.arm]
    apart = overrides_apart(own)
    labels = _shortened([", ".join(overrides) for overrides in apart])
    if len(own) == 1:
        labels = [own[0].name]
    elif not any(labels):  # they differ in nothing, so the overrides that they share name them
        labels = [_short(_relevant(own[0].record.overrides)) if own else DEFAULTS] * len(own)
    given = iter(label or DEFAULTS for label in labels)
    return [run if run.arm else replace(run, arm=next(given)) for run in runs]


def _short(overrides: Sequence[str]) -> str:
    """The name of an arm that is alone: its choices from groups, such as mixer=gru, rather than its other settings."""
    choices = [override for override in overrides if "." not in override.partition("=")[0]]
    named = [*overrides] if len(", ".join(overrides)) <= ALONE else (choices or [*overrides])[:CHOICES]
    rest = len(overrides) - len(named)
    others = f" and {rest} more override{'s' * (rest > 1)}" if rest and not choices else ""
    return ", ".join(named) + others or DEFAULTS


def overrides_apart(runs: Sequence[ComparedRun]) -> list[tuple[str, ...]]:
    """For each run, its overrides that not all of these runs have."""
    each = [_relevant(run.record.overrides) for run in runs]
    shared = set(each[0]).intersection(*each[1:]) if each else set()
    return [tuple(override for override in overrides if override not in shared) for overrides in each]


def _relevant(overrides: Iterable[str]) -> list[str]:
    """The overrides that may change a result, as 'mixer=lstm' also where the user typed '+mixer=lstm'."""
    bare = (override.lstrip("+") for override in overrides)
    return [override for override in bare if re.split(r"[=./@]", override.lstrip("~"))[0] not in NEUTRAL]


def _shortened(labels: list[str]) -> list[str]:
    """The labels with long numbers rounded, unless two labels would become the same."""
    short = [re.sub(r"\d*\.\d{5,}(?:e-?\d+)?", lambda number: f"{float(number[0]):.4g}", label) for label in labels]
    return short if len(set(short)) == len(set(labels)) else labels


def distinct_names(runs: Sequence[ComparedRun]) -> list[ComparedRun]:
    """The runs, renamed where two of one arm have the same seed: by the folders they are in, or by their own names."""
    names: dict[int, str] = {}
    for arm, group in grouped(runs, lambda run: run.arm).items():
        if _seeds_differ(group):
            continue
        parents = grouped(group, lambda run: run.folder.resolve().parent)
        if len(parents) > 1 and all(_seeds_differ(inside) for inside in parents.values()):
            unique = len({parent.name for parent in parents}) == len(parents)
            names |= {
                id(run): f"{parent.name if unique else parent}: {arm}"
                for parent, inside in parents.items()
                for run in inside
            }
        else:
            unique = len({run.name for run in group}) == len(group)
            names |= {id(run): run.name if unique else str(run.folder) for run in group}
    return [replace(run, arm=names.get(id(run), run.arm)) for run in runs]


def _seeds_differ(runs: Sequence[ComparedRun]) -> bool:
    return len({run.seed for run in runs}) == len(runs)


def grouped(runs: Iterable[ComparedRun], key: Callable[[ComparedRun], Key]) -> dict[Key, list[ComparedRun]]:
    """The runs by the value of a function, in their order."""
    groups: dict[Key, list[ComparedRun]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return groups
