"""Rows that a person gives: one value each, or for a model that reads several fields, one value for each of them.

A row of several fields is a mapping, the text of a JSON object, or texts ``name=value`` that follow each other, one for
every field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from composer.core.problems import UserError, listed
from composer.core.signals import Signal
from composer.graph.graph import Graph
from composer.objectives.objective import Objective


def as_rows(rows: str | Sequence[Any]) -> list[Any]:
    """Rows, of which a text or a mapping alone is a single one."""
    return [rows] if isinstance(rows, str | Mapping) else list(rows)


def typed_columns(graph: Graph, objective: Objective, rows: str | Sequence[Any]) -> dict[str, list[Any]]:
    """The values of every field that a row needs, one for each row."""
    values, given = as_rows(rows), graph.plan.given
    return field_columns(values, given, objective) if given else dict.fromkeys(sorted(graph.plan.generated), values)


def encoded(columns: Mapping[str, list[Any]], graph: Graph, objective: Objective) -> dict[str, Signal]:
    """Columns of values as the signals that the graph reads."""
    return {name: objective.encode(name, column).to(graph.device) for name, column in columns.items()}


def unknown_tokens(columns: Mapping[str, list[Any]], objective: Objective) -> list[list[str]]:
    """For every row, its tokens that are not in the vocabulary."""
    each = [[objective.unknown(name, value) for value in column] for name, column in columns.items()]
    return [[token for tokens in row for token in tokens] for row in zip(*each, strict=True)]


def field_columns(
    rows: Sequence[Any], fields: Iterable[str], objective: Objective, what: str = "row"
) -> dict[str, list[Any]]:  # fmt: skip
    """The values of every field, one for each row. A text that is empty is an error, which calls a row ``what``.

    Fields that are made of one column of a table, such as words and the characters inside of them, are given once; a
    mapping may also have all of them.
    """
    fields = list(fields)
    names = objective.shown_once(fields)
    if len(names) < len(fields) and all(isinstance(row, Mapping) and row.keys() >= set(fields) for row in rows):
        return _columns(rows, fields, what)
    columns = _columns(rows, names, what)
    same = objective.source.repeats
    return {name: columns[name if name in names else next(n for n in names if n in same[name])] for name in fields}


def _columns(rows: Sequence[Any], names: Sequence[str], what: str) -> dict[str, list[Any]]:
    if len(names) == 1:
        columns = {names[0]: list(rows)}
    else:
        mappings = gathered(rows, names)
        columns = {name: [row[name] for row in mappings] for name in names}
    for name, column in columns.items():
        if any(isinstance(value, str) and not value.strip() for value in column):
            raise UserError(f"an empty {what}: this model needs its '{name}'. Give one.")
    return columns


def gathered(rows: Sequence[Any], names: Sequence[str]) -> list[Mapping[str, Any]]:
    """Rows of several fields as mappings. Texts ``name=value`` are gathered until every field has a value."""
    found: list[Mapping[str, Any]] = []
    open_row: dict[str, str] = {}
    for row in rows:
        name, equals, value = row.partition("=") if isinstance(row, str) else ("", "", "")
        if equals and name.strip() in names and name.strip() not in open_row:
            open_row[name.strip()] = value.strip()
            if len(open_row) == len(names):
                found.append(open_row)
                open_row = {}
            continue
        _check_whole(open_row, names)
        found.append(_mapping(row, names))
    _check_whole(open_row, names)
    return found


def _check_whole(open_row: Mapping[str, str], names: Sequence[str]) -> None:
    if open_row:
        missing = listed(name for name in names if name not in open_row)
        raise UserError(f"a row has {listed(open_row)}, but no {missing}: this model reads {listed(names)}. Give each.")


def _mapping(row: Any, names: Sequence[str]) -> Mapping[str, Any]:
    if isinstance(row, str):
        try:
            row = json.loads(row)
        except json.JSONDecodeError as error:
            example = " ".join(f"'{name}=...'" for name in names)
            raise UserError(f"'{row}': this model reads {listed(names)}. Give each by its name: {example}.") from error
    if not isinstance(row, Mapping) or any(name not in row for name in names):
        raise UserError(f"{row!r}: this model reads {listed(names)}. Give each by its name.")
    return row
