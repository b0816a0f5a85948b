"""The trials of a tuning or a search: what was tried, what came out, quality by learning rate, and how much each
parameter mattered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from composer.studies.comparison import Comparison
from composer.studies.findings.rate_curves import WINDOW, as_data, flips
from composer.studies.records.run_records import ComparedRun
from composer.studies.report.numbers import rounded

#: Numbers whose largest is more than this many times the smallest are drawn on a logarithmic axis.
WIDE = 20.0

#: Fewer finished trials than this say nothing about importance.
FEWEST = 6


def tuning_of(comparison: Comparison) -> dict[str, Any] | None:
    """The curves of a study's arms, the trials in their order, the axes of their parameters and each parameter's
    importance; None without trials."""
    if not comparison.trials:
        return None
    trials = [_trial(run, number, comparison.validated) for number, run in enumerate(comparison.trials)]
    trials.sort(key=lambda trial: trial["number"])
    names = dict.fromkeys(name for trial in trials for name in trial["parameters"])
    parameters = [_axis(name, [trial["parameters"].get(name) for trial in trials]) for name in names]
    return {
        "curves": [_curve(as_data(name, curve)) for name, curve in comparison.curves.items()],
        "window": WINDOW,
        "flips": list(flips(comparison.curves, [task.arms for task in comparison.tasks]).values()),
        "trials": trials,
        "parameters": parameters,
        "importance": importance(trials, [each["name"] for each in parameters]),
    }


def _curve(data: dict[str, Any]) -> dict[str, Any]:
    """A curve with rounded numbers."""
    numbers = {key: rounded(data[key]) for key in ("chosen", "decades", "seconds", "steps")}
    lists = {key: [rounded(value, 6) for value in data[key] or ()] for key in ("rates", "qualities", "window")}
    return {**data, **numbers, **lists}


def searched_arm(run: ComparedRun) -> str:
    """The arm of a study that a trial tunes. A search outside of a study tunes one model, whatever it varies."""
    return str(run.record.arm or "the search")


def _trial(run: ComparedRun, order: int, judged: str) -> dict[str, Any]:
    value = run.result.get(judged) if run.status != "failed" else None
    return {
        "number": run.record.trial.get("number", order),
        "arm": searched_arm(run),
        "run": run.name,
        "status": run.status,
        "reason": run.reason,
        "value": rounded(value, 6),
        "step": run.result_step,
        "seconds": rounded(run.seconds),
        "parameters": {name: _plain(setting) for name, setting in run.record.parameters.items()},
    }


def _plain(setting: Any) -> Any:
    """A number or a text; lists and mappings as their text."""
    if isinstance(setting, int | float) and not isinstance(setting, bool):
        return rounded(setting, 7)
    return setting if isinstance(setting, str) else str(setting)


def _axis(name: str, values: Sequence[Any]) -> dict[str, Any]:
    """An axis of the parallel coordinates: linear, logarithmic, or the choices of a parameter that is not a number."""
    there = [value for value in values if value is not None]
    if not all(isinstance(value, int | float) for value in there):
        return {"name": name, "scale": "choice", "choices": sorted({str(value) for value in there})}
    low, high = min(there, default=0.0), max(there, default=0.0)
    return {"name": name, "scale": "log" if low > 0 and high / low > WIDE else "linear", "choices": []}


def importance(trials: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    """The share of the variance of the trials' ranks that each parameter explains alone, most important first.

    Trials are ranked by their value among the finished trials of their arm, so that differences between arms do not
    count. The fit is a parabola over the ranks of a number, or the means of a choice. The share is adjusted for the
    fit's degrees of freedom, so that it is around 0 for a parameter without effect.
    """
    finished = [trial for trial in trials if trial["status"] == "finished" and trial["value"] is not None]
    standing: dict[int, float] = {}
    for arm in dict.fromkeys(trial["arm"] for trial in finished):
        own = [index for index, trial in enumerate(finished) if trial["arm"] == arm]
        ranked = ranks([finished[index]["value"] for index in own])
        standing |= {index: rank / len(own) for index, rank in zip(own, ranked, strict=True)}
    found = []
    for name in names:
        chosen = [index for index, trial in enumerate(finished) if trial["parameters"].get(name) is not None]
        settings = [finished[index]["parameters"][name] for index in chosen]
        share = explained(settings, [standing[index] for index in chosen])
        if share is not None:
            found.append({"name": name, "share": rounded(share, 3), "trials": len(chosen)})
    return sorted(found, key=lambda each: -each["share"])


def explained(settings: Sequence[Any], values: Sequence[float]) -> float | None:
    """The adjusted share of the variance of ``values`` that a fit over ``settings`` explains; None if unknown."""
    numeric = all(isinstance(setting, int | float) for setting in settings)
    different = len(set(settings))
    degrees = min(2, different - 1) if numeric else different - 1
    if len(values) < max(FEWEST, degrees + 3) or different < 2:
        return None
    centred = _centred(values)
    total = sum(value * value for value in centred)
    if total == 0:
        return None
    fitted = (_parabola if numeric and degrees == 2 else _groups)(settings, centred)
    share = 1 - (1 - fitted / total) * (len(values) - 1) / (len(values) - degrees - 1)
    return max(0.0, share)


def _groups(settings: Sequence[Any], centred: Sequence[float]) -> float:
    """The sum of squares between the groups of equal settings."""
    sums: dict[Any, list[float]] = {}
    for setting, value in zip(settings, centred, strict=True):
        sums.setdefault(setting, []).append(value)
    return sum(sum(group) ** 2 / len(group) for group in sums.values())


def _parabola(settings: Sequence[float], centred: Sequence[float]) -> float:
    """The sum of squares of the least-squares parabola over the settings' ranks, by orthogonal polynomials."""
    first = _centred(ranks(settings))
    second = _centred([value * value for value in first])
    slope = _dot(second, first) / _dot(first, first)
    second = [value - slope * along for value, along in zip(second, first, strict=True)]
    return sum(_dot(centred, each) ** 2 / _dot(each, each) for each in (first, second) if _dot(each, each) > 1e-9)


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value, from 1; equal values share the mean of their ranks."""
    ordered = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(ordered, 1)))}
    return [first[value] + (ordered.count(value) - 1) / 2 for value in values]


def _centred(values: Sequence[float]) -> list[float]:
    mean = sum(values) / len(values)
    return [value - mean for value in values]


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))
