"""Objects in a JSON file: one a line, in an array, or one after the other over several lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from composer.data.bad_rows import BadRow, BadRows
from composer.data.files import Line

#: What stands between the objects of an array.
BETWEEN = " \t\r\n,[]"


def one_a_line(lines: Iterable[Line], path: Path, bad: BadRows) -> Iterator[tuple[int, dict[str, Any]]]:
    """The line and the value of every object; each takes one line."""

    def read(line: Line) -> tuple[int, dict[str, Any]]:
        try:
            return line.number, _object(json.loads(line.text), line.text, path, line.number)
        except json.JSONDecodeError as error:
            message = (
                f"{path}:{line.number}: is not JSON: {error.msg}, at column {error.colno}. Write one object a line."
            )
            raise BadRow(message) from error

    return bad.each((line for line in lines if line.text.strip()), read)


def over_lines(lines: Iterable[Line], path: Path, bad: BadRows) -> Iterator[tuple[int, dict[str, Any]]]:
    """The first line and the value of every object of an array, or of objects that take several lines each."""
    decoder = json.JSONDecoder()
    text, start = "", 0  # what has been read and not decoded, and the number of its first line
    problem: json.JSONDecodeError | None = None
    for line in lines:
        text, start = (text + "\n" + line.text, start) if text else (line.text, line.number)
        while True:
            left = text.lstrip(BETWEEN)
            start += text[: len(text) - len(left)].count("\n")
            text = left
            if not text:
                break
            try:
                value, end = decoder.raw_decode(text)
            except json.JSONDecodeError as error:
                problem = error
                break
            try:
                found = _object(value, text[:40], path, start)
            except BadRow as error:
                bad.met(error)
            else:
                yield start, found
            start += text[:end].count("\n")
            text = text[end:]
    if text and problem is not None:
        line_number = start + problem.lineno - 1
        raise BadRow(f"{path}:{line_number}: is not JSON: {problem.msg}, at column {problem.colno}. Mend the file.")


def _object(value: Any, text: str, path: Path, number: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadRow(f"{path}:{number}: expected an object with names, found {text[:40]!r}.")
    return value
