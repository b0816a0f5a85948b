"""A table whose columns of text and of classes look swapped: hardly a class comes twice, and few texts differ."""

from __future__ import annotations

from composer.core.problems import Invalid
from composer.data.codecs.codec import Reread
from composer.data.fields.class_fields import Class
from composer.data.tables.table import Column, Columns

#: The number of rows from which a judgement is possible.
ENOUGH = 20


def check_swapped(column: Column | Columns | None, key: str, label: Class, rows: int, texts: Reread) -> None:
    """Raise an Invalid where a field of texts and one of classes, which have learned, look swapped.

    column: the column or the columns of the texts, which ``key`` names
    rows: the number of training rows
    """
    names = len(label.codec.names)
    if rows < ENOUGH or names <= rows / 2:
        return
    different = len(set(texts(None)))
    if different > min(100, rows / 10):
        return
    first = column[0] if isinstance(column, list) else column
    second = label.columns["column"]
    mended = f"[{second}]" if key == "columns" else second
    raise Invalid(
        label.key("column"),
        f"column {second} holds {names:,} different classes in {rows:,} rows, and column {first} only {different} "
        f"different texts: the columns look swapped. Set data.{key}={mended} data.{label.key('column')}={first}.",
    )
