"""A table whose columns of text and of classes look swapped: hardly a class comes twice, and few texts differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from composer.core.problems import Invalid
from composer.data.fields.classes import Class
from composer.data.fields.text import Text

#: The number of rows from which a judgement is possible.
ENOUGH = 20


def check_swapped(text: Text, label: Class, rows: int, texts: Callable[[], Iterable[str]]) -> None:
    """Raise an Invalid where two fields that have learned look swapped.

    rows: the number of training rows
    texts: reads the texts of the training split
    """
    names = len(label.codec.names)
    if rows < ENOUGH or names <= rows / 2:
        return
    different = len(set(texts()))
    if different > min(100, rows / 10):
        return
    first = text.columns["column"] or text.columns["columns"]
    first = first[0] if isinstance(first, list) else first
    second = label.columns["column"]
    key = text.key("column")
    mended = f"[{second}]" if key == "columns" else second
    raise Invalid(
        label.key("column"),
        f"column {second} holds {names:,} different classes in {rows:,} rows, and column {first} only {different} "
        f"different texts: the columns look swapped. Set data.{key}={mended} data.{label.key('column')}={first}.",
    )
