"""Pairs of texts in a TSV, CSV, JSONL or Parquet file, for sequence-to-sequence tasks such as translation."""

from __future__ import annotations

from functools import partial

from composer.core.problems import Invalid
from composer.core.registry import register
from composer.data.fields.field_type import FieldKeys
from composer.data.fields.text import Text
from composer.data.file_source import FileSource
from composer.data.files import check_encoding
from composer.data.splits import Share
from composer.data.tables import Column, Table
from composer.data.tokeniser import Tokenising


@register("data", "pairs")
def pairs(
    *,
    path: str | None = None,
    source: Column = 1,
    target: Column = 2,
    header: bool | None = None,
    encoding: str = "utf-8",
    valid: Share = 0.1,
    test: Share = 0.0,
    split_column: Column | None = None,
    seed: int = 0,
    tokeniser: Tokenising = Tokenising(type="auto"),  # noqa: B008 - frozen
    target_tokeniser: Tokenising | None = None,
    shared_vocabulary: bool = False,
    reverse_source: bool = False,
) -> FileSource:
    """source: the text of one column; target: the text of another column."""
    check_encoding(encoding)
    if shared_vocabulary and target_tokeniser is not None:
        raise Invalid("target_tokeniser", "has no effect: shared_vocabulary gives both sides one tokeniser.")
    key = FieldKeys(column="target", tokeniser="target_tokeniser" if target_tokeniser else "tokeniser")
    own = {"shares": "source"} if shared_vocabulary else {"tokeniser": target_tokeniser or tokeniser}
    fields = {
        "source": Text(
            FieldKeys(column="source"), column=source, tokeniser=tokeniser, reverse=reverse_source, sentences="bpe"
        ),
        "target": Text(key, column=target, sentences="bpe", drop_words=False, **own),
    }
    reader = partial(Table, header=header, encoding=encoding)
    return FileSource(fields, reader, path, valid, test, seed=seed, split_column=split_column)
