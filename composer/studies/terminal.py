"""A comparison as a table that fits the terminal, and as JSON."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.cells import cell_len, set_cell_size

from composer.core.problems import listed
from composer.graph.describe import human
from composer.studies.comparison import Arm, Comparison, Task
from composer.studies.findings import rate_curves as tuning
from composer.studies.findings.over_examples import LengthCurve, OverExamples, in_words
from composer.studies.findings.scaling import as_data as ladder_data
from composer.studies.findings.verdicts import NOT_TUNED, diverged_in
from composer.studies.statistics.over_seeds import LEVEL, Estimate
from composer.studies.wording import count, with_interval
from composer.training.run.record import TEST, VALID, on_split

#: The width of the table where the output is not a terminal.
WIDTH = 160

GAP = "  "

#: Names of arms are cut to this width before a column is left out, and to the second before the table is too wide.
SHORT_NAME, SHORTEST_NAME = 24, 8

#: The most arms whose tuning is told one by one.
TUNED = 12

#: The most skipped folders that are listed.
LISTED = 20


@dataclass(frozen=True)
class Column:
    """A column of the table. When the table is too wide, the column with the lowest ``rank`` is left out first."""

    heading: str
    cells: tuple[str, ...]
    rank: int
    left: bool = False

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.heading, *self.cells)))


def show(comparison: Comparison, width: int) -> str:
    """The table, the answer, how it was found, warnings and skipped folders, in lines of at most ``width`` cells."""
    columns = _columns(comparison)
    kept = _fitting(columns, width)
    table = _table(kept, width)
    left_out = [column.heading for column in columns if column not in kept]
    laws = comparison.ladders.sentences if comparison.ladders is not None else []
    notes = [
        comparison.sentence,
        *comparison.answers,
        " ".join(laws),
        in_words(comparison.over_examples),
        comparison.methods,
    ]
    notes = [*filter(None, notes), *(f"Warning: {warning}" for warning in comparison.warnings)]
    if left_out:
        notes.append(f"Columns left out, for which the terminal is too narrow: {', '.join(left_out)}.")
    if comparison.trials:
        notes.append(_trials(comparison))
    paragraphs = [_wrapped(note, width) for note in notes]
    if comparison.skipped:
        paragraphs.append("\n".join(_skipped(comparison, width)))
    return "\n\n".join([table, *paragraphs])


def _columns(comparison: Comparison) -> list[Column]:
    arms = comparison.arms
    verdicts = [words for task in comparison.tasks for words in _verdicts(task, comparison.untuned)]
    quality = [with_interval(arm.quality(comparison.judged)) for arm in arms]

    def numbers(heading: str, rank: int, values: Sequence[Estimate | None], unit: str = "") -> Column:
        cells = (human(value.mean, unit) if value is not None else "-" for value in values)
        return Column(heading, tuple(cells), rank)

    return [
        Column("arm", tuple(_plain(arm.name) for arm in arms), 9, left=True),
        *_task_names(comparison),
        Column(comparison.judged, tuple(quality), 8),
        *_other_split(comparison),
        Column("verdict", tuple(verdicts), 7, left=True),
        Column("seeds", tuple(str(len(arm.runs)) for arm in arms), 6),
        numbers("parameters", 5, [arm.parameters for arm in arms]),
        numbers("FLOPs/token", 3, [arm.flops_per_token for arm in arms]),
        Column("seconds", tuple(_seconds(arm) for arm in arms), 4),
        numbers("tokens/s", 2, [arm.tokens_per_second for arm in arms]),
        numbers("peak memory", 1, [arm.peak_memory for arm in arms], "B"),
    ]


def _verdicts(task: Task, untuned: Mapping[str, str]) -> list[str]:
    best = ["best"] * bool(task.verdicts) + [diverged_in(task.best)] * bool(task.best.diverged)
    best += [NOT_TUNED] * (task.best.name in untuned)
    others = [NOT_TUNED if verdict.untuned else verdict.words for verdict in task.verdicts]  # warnings say why
    return [", ".join(best), *others]


def _task_names(comparison: Comparison) -> Iterator[Column]:
    """The task of every arm, at its best one, where there are several tasks."""
    if len(comparison.tasks) > 1:
        cells = (_plain(task.name) * (arm is task.best) for task in comparison.tasks for arm in task.arms)
        yield Column("task", tuple(cells), 6, left=True)


def _other_split(comparison: Comparison) -> Iterator[Column]:
    """The judged metric on the other split, validation or test, where an arm has one."""
    metric = on_split(comparison.judged, VALID if comparison.judged.startswith(TEST) else TEST)
    if metric != comparison.judged and any(arm.measured(metric) for arm in comparison.arms):
        cells = (with_interval(arm.quality(metric)) if arm.measured(metric) else "-" for arm in comparison.arms)
        yield Column(metric, tuple(cells), 7)


def _seconds(arm: Arm) -> str:
    if arm.seconds is None:
        return "-"
    return f"{arm.seconds.mean:,.0f}" if arm.seconds.mean >= 100 else f"{arm.seconds.mean:.3g}"


def _plain(text: str) -> str:
    """The text without control characters, which could move the cursor or clear the terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """The most important columns whose table fits, if need be with shortened names of arms."""
    kept = list(columns)
    while len(kept) > 2 and _width(kept) > width:
        kept.remove(min(kept, key=lambda column: column.rank))
    return kept


def _width(columns: Sequence[Column]) -> int:
    name, *others = (column.width for column in columns)
    return sum(len(GAP) + other for other in others) + min(name, SHORT_NAME)


def _table(columns: Sequence[Column], width: int) -> str:
    name, *others = columns
    room = max(SHORTEST_NAME, width - sum(len(GAP) + column.width for column in others))
    widths = [min(name.width, room), *(column.width for column in others)]
    rows = list(zip(*((column.heading, *column.cells) for column in columns), strict=True))
    lines = [
        GAP.join(_cell(cell, wide, column.left) for cell, wide, column in zip(row, widths, columns, strict=True))
        for row in rows
    ]
    rule = "-" * (sum(widths) + len(GAP) * (len(widths) - 1))
    return "\n".join(line[:width].rstrip() for line in [lines[0], rule, *lines[1:]])


def _cell(text: str, width: int, left: bool) -> str:
    if cell_len(text) > width:
        return set_cell_size(text, width - 1) + "…"
    padding = " " * (width - cell_len(text))
    return text + padding if left else padding + text


def _wrapped(text: str, width: int, indent: str = "") -> str:
    lines = textwrap.wrap(_plain(text), max(20, min(width, 120)), subsequent_indent=indent)
    return "\n".join(lines)


def _trials(comparison: Comparison) -> str:
    """What the tuning took, over all arms and by each of them, and the rates that it chose."""
    states = [trial.status for trial in comparison.trials]
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
    return {
        "sentence": comparison.sentence,
        "answers": list(comparison.answers),
        "judged": comparison.judged,
        "validated": comparison.validated,
        "direction": comparison.direction,
        "level": LEVEL,
        "correction": next((verdict.correction for verdict in comparison.verdicts if verdict.correction), None),
        "tasks": [{"name": task.name, "arms": [arm.name for arm in task.arms]} for task in comparison.tasks],
        "arms": [_arm(arm, comparison.judged) for arm in comparison.arms],
        "verdicts": [
            {
                "arm": verdict.arm,
                "best": verdict.best,
                "difference": _estimate(verdict.difference),
                "p": verdict.p,
                "distinguishable": verdict.distinguishable,
                "seeds_needed": asdict(verdict.seeds) if verdict.seeds is not None else None,
                "paired": verdict.paired,
                "words": verdict.words,
                "over_examples": _over_examples(comparison.over_examples.get(verdict.arm)),
            }
            for verdict in comparison.verdicts
        ],
        "by_length": [_by_length(curve) for curve in comparison.by_length],
        "ladders": ladder_data(comparison.ladders) if comparison.ladders is not None else None,
        "methods": comparison.methods,
        "untuned": dict(comparison.untuned),
        "tuning": [tuning.as_data(name, curve) for name, curve in comparison.curves.items()],
        "warnings": list(comparison.warnings),
        "trials": [{"folder": str(trial.folder), "status": trial.status} for trial in comparison.trials],
        "skipped": [{"folder": str(path), "reason": reason} for path, reason in comparison.skipped],
        "sources": [str(path) for path in comparison.sources],
    }


def _arm(arm: Arm, judged: str) -> dict[str, Any]:
    return {
        "name": arm.name,
        "overrides": list(arm.overrides),
        "seeds": [run.seed for run in arm.runs],
        "diverged": list(arm.diverged),
        "folders": [str(run.folder) for run in arm.runs],
        "quality": _estimate(arm.quality(judged)),
        **{
            name: _estimate(getattr(arm, name))
            for name in ("parameters", "flops_per_token", "seconds", "tokens_per_second", "peak_memory")
        },
    }


def _over_examples(found: OverExamples | None) -> dict[str, Any] | None:
    """The interval over examples, or why there is none; None where the arms are not judged on the test split."""
    if found is None:
        return None
    interval = None if found.interval is None else list(found.interval)
    return {"difference": found.difference, "interval": interval, "missing": found.missing}


def _by_length(curve: LengthCurve) -> dict[str, Any]:
    points = [
        {"low": point.low, "high": point.high, "examples": point.count, "quality": _estimate(point.quality)}
        for point in curve.points
    ]
    return {"arm": curve.arm, "trained": list(curve.trained), "points": points}


def _estimate(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None or math.isnan(estimate.mean):
        return None
    return {"mean": estimate.mean, "half": estimate.half, "values": list(estimate.values)}
