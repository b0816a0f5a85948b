"""Attributes to text: the columns of a CSV or JSONL file, or one column of slots, name[The Mill], food[English]."""

from __future__ import annotations

from typing import Literal

from composer.core.registry import register
from composer.data.fields.attributes import Attributes
from composer.data.fields.field_type import FieldKeys
from composer.data.fields.text_field import Text
from composer.data.file_keys import NUMBERS, FileKeys, reads_files
from composer.data.file_source import FileSource
from composer.data.tables.table import Column, Columns, Table
from composer.data.tokenisers.tokeniser import Tokenising


@register("data", "vectors")
@reads_files(*NUMBERS)
def vectors(
    files: FileKeys,
    *,
    attributes: Columns | None = None,
    slots: Column | None = None,
    target: Column = "text",
    references: Literal["single", "grouped"] = "single",
    tokeniser: Tokenising = Tokenising(),  # noqa: B008 - frozen
) -> FileSource:
    """source: the attributes as one vector; target: the text about them."""
    fields = {
        "source": Attributes(FieldKeys(columns="attributes", column="slots"), columns=attributes, column=slots),
        "target": Text(
            FieldKeys(column="target"), column=target, tokeniser=tokeniser, sentences="bpe", drop_words=False,
            references=references,
        ),
    }  # fmt: skip
    return FileSource(fields, Table, files)
