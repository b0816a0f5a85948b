"""The trials of a tuning or a search: what was tried, what came out, quality by learning rate, and how much each
parameter mattered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from composer.core.problems import Report
from composer.runs.finding import Unreadable
from composer.studies.comparison import Comparison
from composer.studies.findings.rate_curves import WINDOW, as_data, flips
from composer.studies.records.run_records import ComparedRun, read_sweep
from composer.studies.tuning.search_space import Choice, Interval, parse_space

#: Numbers whose largest is more than this many times the smallest are drawn on a logarithmic axis.
WIDE = 20.0

#: Fewer finished trials than this say nothing about importance, and neither do arms with fewer of their own.
FEWEST, FEWEST_OF_ARM = 6, 4


def tuning_of(comparison: Comparison) -> dict[str, Any] | None:
    """The curves of a study's arms, the trials in their order, the axes of their parameters and each parameter's
    importance; None without trials."""
    if not comparison.trials:
        return None
    trials = [_trial(run, number, comparison.validated) for number, run in enumerate(comparison.trials)]
    trials.sort(key=lambda trial: trial["number"])
    names = dict.fromkeys(name for trial in trials for name in trial["parameters"])
    spaces = [_space(run) for run in {run.folder.parent: run for run in comparison.trials}.values()]
    parameters = [
        _axis(
            name,
            [trial["parameters"].get(name) for trial in trials],
            [space[name] for space in spaces if name in space],
        )
        for name in names
    ]
    return {
        "curves": [as_data(name, curve) for name, curve in comparison.curves.items()],
        "window": WINDOW,
        "flips": list(flips(comparison.curves, [task.arms for task in comparison.tasks]).values()),
        "trials": trials,
        "parameters": parameters,
        "importance": importance(trials, [each["name"] for each in parameters]),
    }


def searched_arm(run: ComparedRun) -> str:
    """The arm of a study that a trial tunes. A search outside of a study tunes one model, whatever it varies."""
    return str(run.record.arm or "the search")


def _trial(run: ComparedRun, order: int, judged: str) -> dict[str, Any]:
    value = run.result.get(judged) if run.record.status != "failed" else None
    return {
        "number": run.record.trial.get("number", order),
        "arm": searched_arm(run),
        "run": run.name,
        "status": run.record.status,
        "reason": run.record.reason,
        "value": value,
        "step": run.record.result_step,
        "seconds": run.seconds,
        "parameters": {name: _plain(setting) for name, setting in run.record.parameters.items()},
    }


def _plain(setting: Any) -> Any:
    """A number or a text; lists and mappings as their text."""
    if isinstance(setting, int | float) and not isinstance(setting, bool):
        return setting
    return setting if isinstance(setting, str) else str(setting)


def _space(run: ComparedRun) -> Mapping[str, Interval | Choice]:
    """The ranges of the tuning or the search that a trial belongs to; empty where its folder does not say them."""
    texts = (run.record.tuning or {}).get("space")
    try:
        texts = texts or (read_sweep(run.folder.parent).search or {})["settings"]["space"]
    except (Unreadable, KeyError, TypeError):  # of another version
        return {}
    known = texts if isinstance(texts, Mapping) else {}
    return parse_space({str(key): str(text) for key, text in known.items()}, "space", Report())


def _axis(name: str, values: Sequence[Any], ranges: Sequence[Interval | Choice]) -> dict[str, Any]:
    """An axis of the parallel coordinates: linear, logarithmic, or the choices of a parameter that is not a number.

    ranges: those in which the parameter was searched, as far as they are known
    """
    there = [value for value in values if value is not None]
    if not all(isinstance(value, int | float) for value in there):
        return {"name": name, "scale": "choice", "choices": sorted({str(value) for value in there})}
    low, high = min(there, default=0.0), max(there, default=0.0)
    intervals = [each for each in ranges if isinstance(each, Interval)]
    log = any(each.log for each in intervals) if intervals else low > 0 and high / low > WIDE
    return {"name": name, "scale": "log" if log and low > 0 else "linear", "choices": []}


def importance(trials: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """The share of the variance of the trials' ranks that each parameter explains alone, most important first.

    Trials are ranked by their value among the finished trials of their arm, so that differences between arms do not
    count. Arms with fewer than four are left out: a line through two points explains everything. The fit is a parabola
    over the ranks of a number, or the means of a choice. The share is adjusted for the fit's degrees of freedom, so
    that it is around 0 for a parameter without effect.
    """
    finished = [trial for trial in trials if trial["status"] == "finished" and trial["value"] is not None]
    standing: dict[int, float] = {}
    for arm in dict.fromkeys(trial["arm"] for trial in finished):
        own = [index for index, trial in enumerate(finished) if trial["arm"] == arm]
        if len(own) < FEWEST_OF_ARM:
            continue
        ranked = ranks([finished[index]["value"] for index in own])
        standing |= {index: rank / len(own) for index, rank in zip(own, ranked, strict=True)}
    found = []
    for name in names:
        chosen = [index for index in standing if finished[index]["parameters"].get(name) is not None]
        settings = [finished[index]["parameters"][name] for index in chosen]
        share = explained(settings, [standing[index] for index in chosen])
        if share is not None:
            found.append({"name": name, "share": share, "trials": len(chosen)})
    return sorted(found, key=lambda each: -each["share"])


def explained(settings: Sequence[Any], values: Sequence[float]) -> float | None:
    """The adjusted share of the variance of ``values`` that a fit over ``settings`` explains; None if unknown."""
    numeric = all(isinstance(setting, int | float) for setting in settings)
    different = sorted(set(settings), key=settings.index)
    degrees = min(2, len(different) - 1) if numeric else len(different) - 1
    centred = np.array(values) - np.mean(values) if values else np.zeros(0)
    if len(values) < max(FEWEST, degrees + 3) or len(different) < 2 or not centred.any():
        return None
    if numeric:
        design = np.vander(np.array(ranks(settings)) / len(settings), degrees + 1)
    else:
        design = np.array([[setting == each for each in different] for setting in settings], dtype=float)
    fitted = design @ np.linalg.lstsq(design, centred)[0]
    left = np.square(centred - fitted).sum() / np.square(centred).sum()
    return max(0.0, float(1 - left * (len(values) - 1) / (len(values) - degrees - 1)))


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, from 1; equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places].tolist()
