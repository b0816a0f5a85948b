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
    comment = layout.cutting.comment
    for line in lines(path, layout.encoding, bad):
        if line.text and not (comment and line.text.startswith(comment)):
            yield line


def records(path: Path, layout: Layout, bad: BadRows) -> Iterator[tuple[int, list[Any]]]:
    """The first line and the cells of each record."""
    if layout.form == "json_lists":
        return json_values.records(record_lines(path, layout, bad), path, bad, list, spread=layout.spread)
    if layout.cutting.quoted:
        return _quoted(path, layout, bad)
    return ((line.number, layout.cutting.cells(line.text)) for line in record_lines(path, layout, bad))


def objects(path: Path, layout: Layout, bad: BadRows) -> Iterator[tuple[int, dict[str, Any]]]:
    """The first line and the names with their values, of each object in a JSON file."""
    return json_values.records(record_lines(path, layout, bad), path, bad, dict, spread=layout.spread)


def _quoted(path: Path, layout: Layout, bad: BadRows) -> Iterator[tuple[int, list[str]]]:
    """The records of a file with quotes. A line inside a cell in quotes is never a comment."""
    start = 0  # the number of the record's first line; 0 before it is read

    def fed() -> Iterator[str]:
        nonlocal start
        for line in lines(path, layout.encoding, bad):
            if start == 0 and layout.cutting.comment and line.text.startswith(layout.cutting.comment):
                continue
            start = start or line.number
            yield f"{line.text}\n"

    reader = csv.reader(fed(), delimiter=layout.cutting.delimiter, strict=True)
    while True:
        start = 0
        try:
            cells = next(reader, None)
        except csv.Error as error:
            bad.met(BadRow(f"{path}:{start}: is not CSV: {error}. Check the quotes of that line."))
            continue
        if cells is None:
            return
        if cells:
            yield start, cells
