"""Attributes to text: the columns of a CSV or JSONL file, or one column of slots, name[The Mill], food[English]."""

from __future__ import annotations

from functools import partial
from typing import Literal

from composer.core.registry import register
from composer.data.fields.attributes import Attributes
from composer.data.fields.field_type import FieldKeys
from composer.data.fields.text import Text
from composer.data.file_source import FileSource
from composer.data.splits.splits import Share
from composer.data.tables.reading import Reading
from composer.data.tables.table import Column, Columns, Table
from composer.data.tokenisers.tokeniser import Tokenising


@register("data", "vectors")
def vectors(
    *,
    path: str | None = None,
    attributes: Columns | None = None,
    slots: Column | None = None,
    target: Column = "text",
    header: bool | None = None,
    delimiter: str | None = None,
    quotes: bool | None = None,
    encoding: str | None = None,
    decimal: Literal[".", ","] | None = None,
    missing: list[str | float] | None = None,
    valid: Share = 0.1,
    test: Share = 0.0,
    split_column: Column | None = None,
    split_by: Column | None = None,
    skip_bad: bool = False,
    seed: int = 0,
    references: Literal["single", "grouped"] = "single",
    tokeniser: Tokenising = Tokenising(),  # noqa: B008 - frozen
) -> FileSource:
    """source: the attributes as one vector; target: the text about them."""
    reading = Reading(
        encoding=encoding, delimiter=delimiter, quotes=quotes, header=header, skip_bad=skip_bad, decimal=decimal,
        missing=missing,
    )  # fmt: skip
    fields = {
        "source": Attributes(FieldKeys(columns="attributes", column="slots"), columns=attributes, column=slots),
        "target": Text(
            FieldKeys(column="target"),
            column=target,
            tokeniser=tokeniser,
            sentences="bpe",
            drop_words=False,
            references=references,
        ),
    }
    reader = partial(Table, reading=reading)
    return FileSource(
        fields, reader, path, valid, test, reading=reading, seed=seed, split_column=split_column, split_by=split_by
    )
