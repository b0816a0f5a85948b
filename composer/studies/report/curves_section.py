"""Learning curves of a run, thinned to what a screen shows.

The lines of metrics.jsonl are of two sorts, training and validation, which become a table of columns each. A validation
line gives only its step: its tokens, examples and seconds are interpolated between the training lines around it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from composer.studies.json_data import finite, rounded

#: The points of a thinned curve. More lines than this are averaged in so many groups of consecutive lines.
POINTS = 400

#: The columns that a curve can be drawn against. Training FLOPs follow from the examples.
AXES = ("step", "examples", "tokens", "seconds")

VALID = "valid/"
Column = list[float | None]
Table = dict[str, dict[str, Column]]
Row = Mapping[str, Any]


def curves_of(rows: Iterable[Row]) -> dict[str, Table]:
    """The tables ``training`` and ``validation`` of a run, each with the columns of its axes and of its metrics."""
    lines: dict[bool, list[Row]] = {True: [], False: []}
    for row in sorted((row for row in rows if finite(row.get("step")) is not None), key=lambda row: row["step"]):
        lines[any(name.startswith(VALID) for name in row)].append(row)
    axes = {name: column for name in AXES if None not in (column := _column(lines[False], name))}
    return {"training": _table(lines[False], axes), "validation": _table(lines[True], _placed(lines[True], axes))}


def thinned(column: Column) -> Column:
    """Means of ``POINTS`` groups of consecutive values, or the column itself if it is short.

    Missing values are left out of a group's mean. The last group is the last value alone, where a run ended.
    """
    if len(column) <= POINTS:
        return column
    *rest, last = column
    bounds = [i * len(rest) // (POINTS - 1) for i in range(POINTS)]
    groups = (rest[start:end] for start, end in pairwise(bounds))
    return [*map(_mean, groups), last]


def _mean(values: Sequence[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def _table(rows: Sequence[Row], axes: Mapping[str, Column]) -> Table:
    names = dict.fromkeys(name for row in rows for name in row)
    metrics = {name: _column(rows, name) for name in names if name not in AXES and name != "epoch"}
    metrics = {name: column for name, column in metrics.items() if any(value is not None for value in column)}
    return {
        "axes": {name: [rounded(value, 7) for value in thinned(column)] for name, column in axes.items()},
        "metrics": {name: [rounded(value, 5) for value in thinned(column)] for name, column in metrics.items()},
    }


def _column(rows: Sequence[Row], name: str) -> Column:
    """The values of a name, None where a line has no finite number of that name."""
    column: list[Any] = [row.get(name) for row in rows]
    if set(map(type, column)) <= {int, float} and math.isfinite(sum(column)):  # quicker than value by value
        return column
    return [finite(value) for value in column]


def _placed(validation: Sequence[Row], known: Mapping[str, Column]) -> dict[str, Column]:
    """The axes of validation lines, interpolated at their steps between the ``known`` ones of training lines.

    Before the first and after the last of these, they are in proportion to the step.
    """
    steps: list[Any] = [row["step"] for row in validation]
    columns: dict[str, Column] = {"step": steps}
    for name in AXES[1:]:
        if steps and known.get(name):
            places, values = np.array(known["step"], dtype=float), np.array(known[name], dtype=float)
            end = 2.0 * max(steps[-1], places[-1])
            along = [0.0, *places, end], [0.0, *values, values[-1] * end / places[-1]]
            columns[name] = np.interp(steps, *along).tolist()
    return columns
