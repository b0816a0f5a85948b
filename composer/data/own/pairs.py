"""Pairs of texts in a TSV, CSV, JSONL or Parquet file, for sequence-to-sequence tasks such as translation."""

from __future__ import annotations

from functools import partial
from typing import Literal

from composer.core.problems import Invalid
from composer.core.registry import register
from composer.data.fields.field_type import FieldKeys
from composer.data.fields.text_field import Text
from composer.data.file_keys import TABLE, FileKeys, reads_files
from composer.data.file_source import FileSource
from composer.data.tables.table import Column, Columns, Table
from composer.data.tokenisers.tokeniser import Tokenising


@register("data", "pairs")
@reads_files(*TABLE)
def pairs(
    files: FileKeys,
    *,
    source: Column | Columns = 1,
    target: Column = 2,
    separator: str = " ",
    parallel: str | None = None,
    references: Literal["single", "grouped"] = "single",
    tokeniser: Tokenising = Tokenising(type="auto"),  # noqa: B008 - frozen
    target_tokeniser: Tokenising | None = None,
    shared_vocabulary: bool = False,
    reverse_source: bool = False,
) -> FileSource:
    """source: the text of one column, or of several, joined; target: the text of another column."""
    if shared_vocabulary and target_tokeniser is not None:
        raise Invalid("target_tokeniser", "has no effect: shared_vocabulary gives both sides one tokeniser.")
    key = FieldKeys(column="target", tokeniser="target_tokeniser" if target_tokeniser else "tokeniser")
    own = {"shares": "source"} if shared_vocabulary else {"tokeniser": target_tokeniser or tokeniser}
    fields = {
        "source": Text(
            FieldKeys(column="source", columns="source"), tokeniser=tokeniser, reverse=reverse_source,
            column=None if isinstance(source, list) else source, columns=source if isinstance(source, list) else None,
            separator=separator, sentences="bpe",
        ),
        "target": Text(key, column=target, sentences="bpe", drop_words=False, references=references, **own),
    }  # fmt: skip
    return FileSource(fields, partial(Table, parallel=parallel), files)
