"""Pairs of texts in a TSV, CSV, JSONL or Parquet file, for sequence-to-sequence tasks such as translation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from composer.core.problems import Invalid
from composer.core.registry import register
from composer.data.codecs import TextCodec
from composer.data.file_source import FileSource
from composer.data.files import check_encoding
from composer.data.splits import SPLIT_COLUMN, Share, Splits
from composer.data.tables import Column, Table, TableRow, text
from composer.data.tokeniser import Tokenising


@register("data", "pairs")
class Pairs(FileSource):
    """source: the text of one column; target: the text of another column."""

    table: Table

    def __init__(
        self,
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
    ) -> None:
        check_encoding(encoding)
        if shared_vocabulary and target_tokeniser is not None:
            raise Invalid("target_tokeniser", "has no effect: shared_vocabulary gives both sides one tokeniser.")
        self.columns = {"source": source, "target": target}
        extra = {} if split_column is None else {SPLIT_COLUMN: split_column}
        keys = {"source": "source", "target": "target", SPLIT_COLUMN: "split_column"}
        self.table = Table(self.columns | extra, keys=keys, header=header, encoding=encoding)
        self.parts = Splits(self._read, path, valid, test, seed=seed, by_column=bool(extra))
        self.shared = shared_vocabulary
        self.texts = {
            "source": TextCodec(tokeniser, reverse=reverse_source, given=True),
            "target": TextCodec(
                target_tokeniser or tokeniser, key="target_tokeniser" if target_tokeniser else "tokeniser"
            ),
        }
        self.codecs = {**self.texts}

    def _read(self, path: Path) -> Iterator[TableRow]:
        for record in self.table.read(path):
            for name, column in self.columns.items():
                if self.reads(name):
                    record.values[name] = text(record, name, column)
            yield record

    def open(self) -> None:
        if not self.shared:
            super().open()
            return
        tokeniser = self.texts["source"].learn_tokeniser(self._both)
        for name, codec in self.texts.items():
            codec.adopt(tokeniser, partial(self.values, name))

    def _both(self, limit: int | None) -> Iterator[str]:
        """The texts of both columns, at most ``limit`` of each."""
        return (value for name in self.columns for value in self.values(name, limit))
