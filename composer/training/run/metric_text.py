"""Metrics on the screen, in lines that break between two metrics and never inside a number, and as a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from composer.views.tables import Column, terminal_width, text_table

GAP = "  "

#: The indentation of the metrics of a head, where there are several heads.
INDENT = "  "

Report = Mapping[str, Mapping[str, float | None]]


def metric_lines(title: str, values: Mapping[str, float]) -> str:
    """A title and metrics, without those that are NaN or infinite; those of each head in lines of their own."""
    by_head: dict[str, list[str]] = {"": []}
    for name, value in values.items():
        head, _, metric = name.rpartition("/")
        if math.isfinite(value):
            by_head.setdefault(head, []).append(f"{metric} {value:.4g}")
    lines = list(_filled(title, by_head.pop("")))
    longest = max(map(len, by_head), default=0)
    for head, words in by_head.items():
        lines += _filled(INDENT + head.ljust(longest), words)
    return "\n".join(lines)


def _filled(title: str, words: Iterable[str]) -> Iterator[str]:
    """The title and the words, in lines as wide as the terminal; further lines are indented below the first word."""
    width = terminal_width()
    indent = len(title) + len(GAP) if 2 * len(title) < width else len(2 * INDENT)
    line = title
    for word in words:
        if len(line) + len(GAP) + len(word) > width and line.strip():
            yield line
            line = f"{' ' * indent}{word}"
        else:
            line = f"{line}{GAP}{word}"
    yield line


def result_table(title: str, values: Mapping[str, float], test: Report) -> str:
    """The metrics of the best checkpoint on the validation split and on the test split, with 95 % intervals."""
    columns = (title, Column("validation", right=True), Column("test", right=True), "95 % interval")
    rows = []
    for name in dict.fromkeys([*test, *values]):
        value, found = values.get(name, math.nan), test.get(name, {})
        shown = f"{value:.4g}" if math.isfinite(value) else ""
        if found.get("value") is not None:
            rows.append((name, shown, _bound(found["value"]), f"{_bound(found['low'])} to {_bound(found['high'])}"))
        elif shown:
            rows.append((name, shown, "", ""))
    return text_table(columns, rows)


def _bound(value: float | None) -> str:
    return "?" if value is None else f"{value:.4g}"
