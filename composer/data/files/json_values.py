"""Records in a JSON file: objects or lists, one a line, in an array, or one after the other over several lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from composer.core.problems import UserError
from composer.data.files.bad_rows import BadRow, BadRows
from composer.data.files.lines import Line

#: The line and the value of a record: an object, or a list of cells.
Record = tuple[int, Any]

#: What stands between the records of an array.
BETWEEN = " \t\r\n,"

EXPECTED = 'Write an object a line, {"text": ..., "label": ...}, or an array of such objects'


def records(lines: Iterable[Line], path: Path, bad: BadRows, kind: type[dict[str, Any]] | type[list[Any]], *,
            spread: bool) -> Iterator[Record]:  # fmt: skip
    """
    kind: of every record
    spread: whether the file is an array, or a record may take several lines; otherwise each takes one line
    """

    def decoded(line: Line) -> Record:
        try:
            return line.number, json.loads(line.text)
        except json.JSONDecodeError as error:
            found = f"{path}:{line.number}: is not JSON: {error.msg}, at column {error.colno}"
            raise BadRow(f"{found}. Write one object a line.") from error

    one_a_line = (line for line in lines if line.text.strip())
    every = over_lines(lines, path) if spread else bad.each(one_a_line, decoded)
    some = False
    for record in bad.each(every, lambda record: _checked(*record, kind, path)):
        some = True
        yield record
    if not some and not bad.reasons:
        raise UserError(f"{path}: holds no record. {EXPECTED}.")


def over_lines(lines: Iterable[Line], path: Path) -> Iterator[Record]:
    """The first line and the value of every item of an array, or of values that take several lines each."""
    decoder = json.JSONDecoder()
    text, start = "", 0  # what has been read and not decoded, and the number of its first line
    array: bool | None = None  # whether the file is an array; None before its first character
    tried = 0  # the length of the text that was not yet a whole value: the next try is worth it at twice the length
    problem: json.JSONDecodeError | None = None
    for line in chain(lines, [None]):
        if line is not None:
            text, start = (text + "\n" + line.text, start) if text else (line.text, line.number)
            if len(text) < 2 * tried:
                continue
        while True:
            left = text.lstrip(BETWEEN)
            if array is None and left:
                array = left.startswith("[")
                left = left[array:].lstrip(BETWEEN)
            if array and left.startswith("]"):
                left = left[1:]
            start += text[: len(text) - len(left)].count("\n")
            text = left
            if not text:
                break
            try:
                value, end = decoder.raw_decode(text)
            except json.JSONDecodeError as error:
                problem, tried = error, len(text)
                break
            yield start, value
            start += text[:end].count("\n")
            text, tried = text[end:], 0
    if text and problem is not None:
        line_number = start + problem.lineno - 1
        raise BadRow(f"{path}:{line_number}: is not JSON: {problem.msg}, at column {problem.colno}. Mend the file.")


def _checked(number: int, value: Any, kind: type[Any], path: Path) -> Record:
    """A record of the kind, or an error."""
    if kind is list and isinstance(value, list):
        return number, value
    if kind is not dict or not isinstance(value, dict) or not value:
        expected = "a list of cells, as the others are" if kind is list else "an object with names"
        found = json.dumps(value, ensure_ascii=False)
        shown = found if len(found) <= 40 else found[:37] + "..."
        raise BadRow(f"{path}:{number}: expected {expected}, found {shown}. {EXPECTED}.")
    nested = [name for name, item in value.items() if isinstance(item, list) and item and isinstance(item[0], dict)]
    if nested and all(isinstance(item, list | dict) for item in value.values()):
        message = f"{path}:{number}: is one object, which holds records in '{nested[0]}'. Write these as a file"
        raise BadRow(f"{message}: jq -c '.{nested[0]}[]' {path.name} > records.jsonl")
    return number, value
