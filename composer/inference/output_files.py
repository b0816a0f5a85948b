"""Predictions as a file, in the form that its suffix names.

jsonl      an object a line, as on the screen
csv, tsv   a row for every prediction, below the names of its columns; what is no text, number or truth is JSON. A
           forecast has a row for every step and channel
conll      a line for every word, with its tag and, where it is known, the true tag; blank lines between sentences
"""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from composer.core.problems import UserError, listed
from composer.core.storage.atomic_files import replaced
from composer.graph.graph import Graph
from composer.inference.prediction import to_json
from composer.objectives import Objective

Records = Iterable[Mapping[str, Any]]

DELIMITERS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (".jsonl", *DELIMITERS, ".conll")

#: The keys of a record that say which row of the data it is of.
PLACE = ("file", "line", "row")


def check_suffix(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        message = f"--output: the suffix of '{path}' names no form of predictions. Give one of {listed(SUFFIXES)}"
        raise UserError(f"{message}, e.g. {path.stem or 'out'}.jsonl.")


def writer_for(path: Path, graph: Graph, objective: Objective) -> Callable[[Records], int]:
    """The function that writes predictions to a file, complete or not at all, and returns their number.

    A form in which the predictions of this model cannot be written is refused here.
    """
    check_suffix(path)
    form: Callable[[Records], Iterable[str]]
    if path.suffix == ".conll":
        form = partial(map, _sentences(graph, objective, path))
    elif path.suffix in DELIMITERS:
        heads = [head.name for head in graph.heads] if len(graph.heads) > 1 else []
        form = partial(_table, heads, DELIMITERS[path.suffix])
    else:
        form = partial(map, lambda record: f"{to_json(record)}\n")
    return partial(_write, path, form)


def _write(path: Path, form: Callable[[Records], Iterable[str]], records: Records) -> int:
    count = 0

    def counted() -> Records:
        nonlocal count
        for count, record in enumerate(records, 1):  # noqa: B007 - the last is the number of records
            yield record

    try:
        with replaced(path) as temporary, temporary.open("wb") as file:
            for text in form(counted()):
                file.write(text.encode())
    except OSError as error:
        raise UserError(f"cannot write '{path}': {error.strerror}.") from error
    return count


def _by_step(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A forecast as a row for every step and channel, without the window that it was made from."""
    channels, place = record["channels"], {name: record[name] for name in PLACE if name in record}
    numbers = {name: _numbers(record[name]) for name in ("predicted", "low", "high", "wanted") if name in record}
    times = record.get("times") or [str(step) for step in range(1, len(numbers["predicted"]) // len(channels) + 1)]
    for index, (time, channel) in enumerate(product(times, channels)):
        values = {name: found[index] for name, found in numbers.items()}
        yield {**place, "time": time, "channel": channel, **values}


def _numbers(value: Any) -> list[Any]:
    """The numbers of a record by steps and channels: in lists, which a single channel lacks, or as text."""
    if isinstance(value, str):
        return value.replace(";", " ").split()
    return [number for step in value for number in (step if isinstance(step, list) else [step])]


def _flat(record: Mapping[str, Any], heads: list[str]) -> dict[str, Any]:
    """A record without the objects of several heads: output.predicted, output.probability."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        flat |= {f"{name}.{inner}": item for inner, item in value.items()} if name in heads else {name: value}
    return flat


def _table(heads: list[str], delimiter: str, records: Records) -> Iterator[str]:
    """The line of the names, then a line for every record, or for every step and channel of a forecast.

    The names of all rows come first, so the rows wait for the last of them in a temporary file.
    """
    names: dict[str, None] = {}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        for record in records:
            for row in _by_step(record) if "channels" in record else [_flat(record, heads)]:
                names.update(dict.fromkeys(row))
                file.write(to_json(row) + "\n")
        file.seek(0)
        yield _line(names, delimiter)
        for row in map(json.loads, file):
            yield _line([_cell(row.get(name)) for name in names], delimiter)


def _line(cells: Iterable[str], delimiter: str) -> str:
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _sentences(graph: Graph, objective: Objective, path: Path) -> Callable[[Mapping[str, Any]], str]:
    """The function that writes the words of a record with the tags of every head."""
    axes = {_tagged_field(graph, objective, head) for head in graph.heads}
    axis = axes.pop()
    if axis is None or axes:
        message = f"--output: '{path}' would hold a tag for every word, but this model does not tag words"
        raise UserError(f"{message}. Give {listed(SUFFIXES[:-1])} instead.")
    shown = objective.shown_once(graph.plan.given)
    words = axis if axis in shown else next(name for name in shown if name in objective.source.repeats[axis])

    def sentence(record: Mapping[str, Any]) -> str:
        found = [record[head.name] for head in graph.heads] if len(graph.heads) > 1 else [record]
        columns = [_words(record[words]), *(_words(tags["predicted"]) for tags in found)]
        columns += [_words(tags["wanted"]) for tags in found if "wanted" in tags]
        if len({len(column) for column in columns}) > 1:
            place = f"{record['file']}:{record['line']}" if "line" in record else f"row {record['row']}"
            sizes = listed(str(len(column)) for column in columns)
            raise UserError(f"{place}: words and tags differ in number ({sizes}), so that CoNLL cannot hold them.")
        return "".join("\t".join(cells) + "\n" for cells in zip(*columns, strict=True)) + "\n"

    return sentence


def _tagged_field(graph: Graph, objective: Objective, head: Any) -> str | None:
    """The given field whose words a head tags; None for any other head."""
    target = graph.target(head)
    axis, fields = target.field.axis, objective.fields
    tags = target.field.kind == "ids" and target.aligned and not target.generates and axis in target.given
    return axis if tags and axis is not None and fields[axis].contents.tokens != target.contents.tokens else None


def _words(value: Any) -> list[str]:
    return value.split() if isinstance(value, str) else [str(word) for word in value]
