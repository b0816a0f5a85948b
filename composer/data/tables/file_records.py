"""The records of a table's file before columns are chosen: cells, or the names and values of a JSON object."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from composer.data.files import json_values
from composer.data.files.bad_rows import BadRow, BadRows
from composer.data.files.lines import Line, lines
from composer.data.layout import Layout


def record_lines(path: Path, layout: Layout, bad: BadRows) -> Iterator[Line]:
    """The lines that are neither empty nor comments."""
    found = lines(path, layout.encoding, bad)
    return (line for line in found if line.text and not layout.cutting.is_comment(line.text))


def records(path: Path, layout: Layout, bad: BadRows) -> Iterator[tuple[int, list[Any]]]:
    """The first line and the cells of each record."""
    if layout.form == "json_lists":
        return json_values.records(record_lines(path, layout, bad), path, bad, list, spread=layout.spread)

    def failed(line: int, error: csv.Error) -> None:
        bad.met(BadRow(f"{path}:{line}: is not CSV: {error}. Check the quotes of that line."))

    return layout.cutting.records(lines(path, layout.encoding, bad), failed)


def objects(path: Path, layout: Layout, bad: BadRows) -> Iterator[tuple[int, dict[str, Any]]]:
    """The first line and the names with their values, of each object in a JSON file."""
    return json_values.records(record_lines(path, layout, bad), path, bad, dict, spread=layout.spread)
