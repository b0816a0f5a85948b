"""A comparison as a table that fits the terminal, and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from composer.core.problems import listed
from composer.studies.comparison import SHOWN, Arm, Comparison, Verdict
from composer.studies.findings.over_examples import OverExamples, in_words
from composer.studies.findings.rate_curves import as_data as tuning_data
from composer.studies.findings.scaling import as_data as ladder_data
from composer.studies.formatting import count
from composer.studies.json_data import plain
from composer.studies.ranked_table import RankedColumn, ranked_table
from composer.studies.records.arms import costs
from composer.studies.statistics.over_seeds import LEVEL
from composer.training.run.record import TEST, VALID, on_split
from composer.views.tables import printable

#: The width of the table where the output is not a terminal.
WIDTH = 160

#: The most arms whose tuning is told one by one.
TUNED = 12

#: The most skipped folders that are listed.
LISTED = 20


def show(comparison: Comparison, width: int) -> str:
    """The table, the answer, how it was found, warnings and skipped folders, in lines of at most ``width`` cells."""
    table, left_out = ranked_table(_columns(comparison), width)
    laws = comparison.ladders.sentences if comparison.ladders is not None else []
    notes = [
        comparison.sentence,
        *comparison.answers,
        " ".join(laws),
        in_words(comparison.over_examples),
        comparison.methods,
        *(f"Warning: {warning}" for warning in comparison.warnings),
        left_out,
        _trials(comparison) if comparison.trials else "",
    ]
    paragraphs = [_wrapped(note, width) for note in notes if note]
    if comparison.skipped:
        paragraphs.append("\n".join(_skipped(comparison, width)))
    return "\n\n".join([table, *paragraphs])


def _columns(comparison: Comparison) -> list[RankedColumn]:
    arms = comparison.arms
    return [
        RankedColumn("arm", [arm.name for arm in arms], 9, right=False),
        *_task_names(comparison),
        RankedColumn(comparison.judged, comparison.shown(comparison.judged), 8),
        *_other_split(comparison),
        RankedColumn("verdict", comparison.verdict_words(), 7, right=False),
        RankedColumn("seeds", [str(len(arm.runs)) for arm in arms], 6),
        *(
            RankedColumn(cost.heading or cost.label, [cost.cell(arm.cost(cost)) for arm in arms], cost.rank)
            for cost in costs("terminal")
        ),
    ]


def _task_names(comparison: Comparison) -> Iterator[RankedColumn]:
    """The task of every arm, at its best one, where there are several tasks."""
    if len(comparison.tasks) > 1:
        cells = [task.name * (arm is task.best) for task in comparison.tasks for arm in task.arms]
        yield RankedColumn("task", cells, 6, right=False)


def _other_split(comparison: Comparison) -> Iterator[RankedColumn]:
    """The judged metric on the other split, validation or test, where an arm has one."""
    metric = on_split(comparison.judged, VALID if comparison.judged.startswith(TEST) else TEST)
    if metric != comparison.judged and any(arm.measured(metric) for arm in comparison.arms):
        yield RankedColumn(metric, comparison.shown(metric), 7)


def _wrapped(text: str, width: int, indent: str = "") -> str:
    lines = textwrap.wrap(printable(text), max(20, min(width, 120)), subsequent_indent=indent)
    return "\n".join(lines)


def _trials(comparison: Comparison) -> str:
    """What the tuning took, over all arms and by each of them, and the rates that it chose."""
    states = [trial.record.status for trial in comparison.trials]
    others = [f"{states.count(state)} {state}" for state in dict.fromkeys(states) if state != "finished"]
    curves = comparison.curves
    spent = [
        f"{name} {count(curve.points, 'point')} in {curve.seconds:,.0f} s"
        + (f" for a {curve.name} of {curve.chosen:g}" if curve.chosen is not None else "")
        for name, curve in curves.items()
    ]
    if len(spent) > TUNED:
        points = sorted(curve.points for curve in curves.values())
        seconds = sum(curve.seconds for curve in curves.values())
        spent = [f"{points[0]} to {points[-1]} points an arm, {seconds:,.0f} s in all; the report has each arm's"]
    each = f": {'; '.join(spent)}" if spent else ""
    return f"The tuning took {count(len(states), 'trial')}{f' ({listed(others)})' if others else ''}{each}."


def _skipped(comparison: Comparison, width: int) -> list[str]:
    skipped = comparison.skipped
    lines = [f"Skipped {count(len(skipped), 'folder')}:"]
    lines += [_wrapped(f"  {path}: {reason}", width, "    ") for path, reason in skipped[:LISTED]]
    return [*lines, *[f"  and {len(skipped) - LISTED:,} more"] * (len(skipped) > LISTED)]


def as_data(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain data, for programs."""
    return plain(
        {
            **{name: getattr(comparison, name) for name in SHOWN},
            "level": LEVEL,
            "correction": next((verdict.correction for verdict in comparison.verdicts if verdict.correction), None),
            "tasks": [{"name": task.name, "arms": [arm.name for arm in task.arms]} for task in comparison.tasks],
            "arms": [_arm(arm, comparison.judged) for arm in comparison.arms],
            "verdicts": [
                _verdict(verdict, comparison.over_examples.get(verdict.arm)) for verdict in comparison.verdicts
            ],
            "by_length": comparison.by_length,
            "ladders": ladder_data(comparison.ladders) if comparison.ladders is not None else None,
            "untuned": comparison.untuned,
            "tuning": [tuning_data(name, curve) for name, curve in comparison.curves.items()],
            "trials": [{"folder": trial.folder, "status": trial.record.status} for trial in comparison.trials],
            "skipped": [{"folder": path, "reason": reason} for path, reason in comparison.skipped],
            "sources": comparison.sources,
        }
    )


def _arm(arm: Arm, judged: str) -> dict[str, Any]:
    return {
        "name": arm.name,
        "overrides": arm.overrides,
        "seeds": [run.seed for run in arm.runs],
        "diverged": arm.diverged,
        "folders": [run.folder for run in arm.runs],
        "quality": arm.quality(judged),
        **{cost.key: arm.cost(cost) for cost in costs("json")},
    }


def _verdict(verdict: Verdict, over: OverExamples | None) -> dict[str, Any]:
    """``over_examples`` is None where the arms are not judged on the test split."""
    names = ("arm", "best", "difference", "p", "distinguishable", "paired", "words")
    return {
        **{name: getattr(verdict, name) for name in names},
        "seeds_needed": verdict.seeds,
        "over_examples": None if over is None else {
            "difference": over.difference, "interval": over.interval, "missing": over.missing
        },
    }  # fmt: skip
