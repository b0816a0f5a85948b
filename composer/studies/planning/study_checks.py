"""Checks of a study's section and of the command line that do not need the arms' models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException

from composer.config.sentences import not_an_override
from composer.core.problems import Report, did_you_mean, listed
from composer.graph.describe import human
from composer.studies.planning.budget import BY_WIDTH, STEPS
from composer.studies.planning.ladder import LEAST_LENGTHS, LEAST_SIZES
from composer.studies.planning.study_settings import Study

#: What a study sets for every run, and where the study says what.
OWNED = {"seed": "study.seeds", "arm": "study.arms", "budget": "study.budget"}

#: The names of arms, which are parts of overrides and of folder names.
NAME = re.compile(r"[\w+-]+")

#: What the sweep sets for every run.
OF_THE_SWEEP = ("runs", "name", "group", "resume")


def check_user_overrides(overrides: Sequence[str], arms: Mapping[str, Sequence[str]], report: Report) -> list[str]:
    """The overrides of the command line that every run of the study gets."""
    kept = []
    for text in overrides:
        override = _parsed(text)
        if override is None:  # Hydra has accepted the command line, so this is none of ours
            continue
        key = override.key_or_group
        section = key.partition(".")[0].partition("/")[0]
        if override.is_sweep_override():
            report.add(key, f"'{text}' is a sweep. A study compares arms: write one value, or an arm for each.")
        elif section in OWNED:
            report.add(key, f"a study sets it itself. Change {OWNED[section]} instead.")
        elif arms and all(sets(own, override.get_key_element()) for own in arms.values()):
            report.add(
                key, "has no effect: every arm of the study sets it.", origin=f"{key}.type"
            )  # of a group's choice
        elif section not in ("hydra", *OF_THE_SWEEP) and not key.startswith("study."):  # study=... concerns a run
            kept.append(text)
    return kept


def check_arms(arms: Mapping[str, Sequence[str]], report: Report) -> None:
    if not arms:
        report.add("study.arms", "a study needs arms: names with lists of overrides, as {gru: [mixer=gru]}.")
    seen: dict[frozenset[str], str] = {}
    for name, overrides in arms.items():
        path = f"study.arms.{name}"
        override = _parsed(f"arm={name}")
        if override is None or NAME.fullmatch(name) is None or override.value() != name:  # null and 1e3 are no texts
            report.add(path, f"'{name}' cannot be an arm's name. Use letters, digits, _, - and +.")
        for text in overrides:
            _check_arm_override(text, path, report)
        same = seen.setdefault(frozenset(overrides), name)
        if same != name:
            report.add(path, f"is the same as '{same}'.")


def _check_arm_override(text: str, path: str, report: Report) -> None:
    override = _parsed(text)
    if override is None:
        report.add(path, f"'{text}' {not_an_override(text)}")
        return
    section = override.key_or_group.partition(".")[0].partition("/")[0]
    if override.is_sweep_override():
        report.add(path, f"'{text}' is a sweep. An arm is one model: write an arm for each value.")
    elif section in (*OWNED, *OF_THE_SWEEP, "study", "hydra", "plugins", "allow_paths"):
        report.add(path, f"'{text}' cannot be part of an arm: it is set for the study as a whole.")


def check_seeds(study: Study, report: Report) -> None:
    final, tuning = study.seeds, study.tuning.seeds if study.tuning is not None else []
    if not final or len(set(final)) < len(final):
        report.add("study.seeds", f"expected different whole numbers, at least one, found {list(final)}.")
    if len(set(tuning)) < len(tuning):
        report.add("study.tuning.seeds", f"expected different whole numbers, found {list(tuning)}.")
    if shared := sorted(set(final) & set(tuning)):
        report.add(
            "study.tuning.seeds",
            f"{listed(shared)} would be the seed of a final run, too, which the tuning would have fitted. Use others.",
        )


def check_budget(study: Study, kept: Sequence[str], report: Report) -> None:
    """Check what is counted, where the target comes from, and that nothing else sets the keys that are solved."""
    budget = study.budget
    if budget is None:
        return
    if budget.count != "all" and budget.kind != "parameters":
        text = f"{budget.count} has no effect on the kind {budget.kind}: it chooses among parameters."
        report.add("study.budget.count", text)
    if not budget.keys or len(set(budget.keys)) < len(budget.keys):
        report.add("study.budget.width", f"expected a key or different keys, found {list(budget.keys)}.")
    keys = budget.keys if budget.kind in BY_WIDTH else [STEPS]
    if study.ladder is not None:
        _check_solved_keys(keys, "study.ladder.sizes", None, study, kept, report)
        return
    of = budget.of
    if (budget.target is None) == (of is None):
        found = "both are set: set one of them to null" if of is not None else "neither is set"
        report.add("study.budget", f"is a number (target) or the size of an arm (of), but {found}.")
    elif of is not None and of not in study.arms:
        hint = did_you_mean(of, study.arms)
        report.add("study.budget.of", f"there is no arm '{of}'.{hint}  (arms: {listed(study.arms)})")
    _check_solved_keys(keys, "study.budget.target", of, study, kept, report)


def check_ladder(study: Study, kept: Sequence[str], report: Report) -> None:
    """Check that the ladder's sizes are the only targets, and that sizes and lengths of training can be told apart."""
    ladder, budget = study.ladder, study.budget
    if ladder is None:
        return
    if budget is None or budget.kind not in BY_WIDTH:
        report.add("study.ladder", f"needs study.budget.kind={' or '.join(BY_WIDTH)}: its sizes are solved for that.")
    elif budget.target is not None or budget.of is not None:
        key = "target" if budget.target is not None else "of"
        report.add(f"study.budget.{key}", "has no effect: study.ladder.sizes are the targets. Remove it.")
    _check_ascending("sizes", [human(size) for size in ladder.sizes], ladder.sizes, LEAST_SIZES, report)
    if ladder.steps is not None:
        _check_ascending("steps", list(map(str, ladder.steps)), ladder.steps, LEAST_LENGTHS, report)
        _check_solved_keys([STEPS], "study.ladder.steps", None, study, kept, report)


def _check_ascending(key: str, shown: Sequence[str], values: Sequence[float], least: int, report: Report) -> None:
    if len(values) < least or list(values) != sorted(values) or len(set(shown)) < len(shown):
        report.add(
            f"study.ladder.{key}",
            f"expected {least} numbers or more, ascending and different to three digits, found [{', '.join(shown)}].",
        )


def _check_solved_keys(
    keys: Sequence[str], decides: str, of: str | None, study: Study, kept: Sequence[str], report: Report
) -> None:
    """Check that nothing sets the key that is solved, other than the arm ``of`` whose size is the target.

    Where several keys are solved, their own values matter: they give the proportions.

    decides: the key of the study from which the solved value follows
    """
    if len(keys) != 1 or "*" in keys[0]:
        return
    key, what = keys[0], decides.split(".")[1]
    for name, overrides in study.arms.items():
        if name != of and sets(overrides, key):
            report.add(f"study.arms.{name}", f"{key} has no effect here: the study's {what} decides it.")
    if of is None and sets(kept, key):
        report.add(key, f"has no effect: the study's {what} decides it. Change {decides} instead.")


def sets(overrides: Sequence[str], key: str) -> bool:
    """Whether one of the overrides sets a key."""
    parsed = filter(None, map(_parsed, overrides))
    return any(override.get_key_element().lstrip("+~") == key for override in parsed)


def _parsed(text: str) -> Override | None:
    try:
        return OverridesParser.create().parse_override(text)
    except HydraException:
        return None
