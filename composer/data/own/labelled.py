"""Texts or numbers with a class or a value: a table, or one text file for each class with an example on every line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from composer.core.problems import Invalid
from composer.core.registry import register
from composer.data.codecs import ClassCodec, Codec, NumberCodec, TextCodec
from composer.data.file_source import FileSource
from composer.data.files import check_encoding, find_files, kind_of, lines
from composer.data.splits import SPLIT_COLUMN, Share, Splits
from composer.data.tables import Column, Columns, Table, TableRow, number, text
from composer.data.tokeniser import Tokenising

TABLES = ("csv", "tsv", "jsonl", "ndjson", "json", "parquet")


@register("data", "labelled")
class Labelled(FileSource):
    """source: a text, or the numbers of some columns; target: its class (label) or its value (vec)."""

    table: Table

    def __init__(
        self,
        *,
        path: str | None = None,
        input: Literal["text", "vector", "sequence"] = "text",
        columns: Columns = [1],  # noqa: B006 - never changed
        output: Literal["class", "value"] = "class",
        label: Column = 2,
        header: bool | None = None,
        encoding: str = "utf-8",
        valid: Share = 0.1,
        test: Share = 0.0,
        split_column: Column | None = None,
        seed: int = 0,
        tokeniser: Tokenising = Tokenising(type="auto"),  # noqa: B008 - frozen
        normalise: bool = True,
        reverse_source: bool = False,
    ) -> None:
        check_encoding(encoding)
        if not columns or (input == "text" and len(columns) != 1):
            raise Invalid(
                "columns", f"names {len(columns)} columns; {'one holds the text' if columns else 'name one'}."
            )
        self.path, self.encoding, self.input, self.output = path, encoding, input, output
        listed: list[Column] = [*columns]
        self.columns = {f"input {i}": column for i, column in enumerate(listed)}
        wanted = {**self.columns, "target": label} | ({SPLIT_COLUMN: split_column} if split_column is not None else {})
        keys = {**dict.fromkeys(self.columns, "columns"), "target": "label", SPLIT_COLUMN: "split_column"}
        self.label = label
        self.table = Table(wanted, keys=keys, header=header, encoding=encoding)
        self.parts = Splits(self._read, path, valid, test, seed=seed, by_column=split_column is not None)
        given: Codec = TextCodec(tokeniser, reverse=reverse_source, given=True, sentences="words")
        if input != "text":
            dim = len(columns) if input == "vector" else 1
            given = NumberCodec(dim, sequence=input == "sequence", normalise=normalise)
        target_codec: Codec = ClassCodec() if output == "class" else NumberCodec(1, normalise=normalise)
        self.codecs = {"source": given, "target": target_codec}

    def _read(self, path: Path) -> Iterator[TableRow]:
        for record in self._raw(path):
            record.values["source"] = self._input(record)
            if self.reads("target"):
                record.values["target"] = self._output(record)
            yield record

    def _raw(self, path: Path) -> Iterator[TableRow]:
        """The records of a table, or of a text file of one class, which has an example on every line."""
        if kind_of(path) in TABLES:
            yield from self.table.read(path)
            return
        name = self._class_of(path) if self.reads("target") else None
        for line in lines(path, self.encoding):
            if line.text.strip():
                yield TableRow(path, line.number, {"input 0": line.text, "target": name})

    def _class_of(self, path: Path) -> str:
        """The class of a text file: its name, or its suffix where all names are equal (rt-polarity.pos, .neg)."""
        if self.input != "text" or self.output != "class":
            raise Invalid("path", f"'{path}' is no table ({', '.join(TABLES)}), so it holds texts of one class.")
        if len(find_files(self.path)) < 2:
            message = (
                f"'{path}' is no table ({', '.join(TABLES)}), so it is the file of one class, and there is no other."
            )
            raise Invalid("path", message + " Name a folder or a pattern, e.g. data.path='names/*.txt'.")
        bare = path.with_suffix("") if path.suffix == ".gz" else path
        alike = {(other.with_suffix("") if other.suffix == ".gz" else other).stem for other in find_files(self.path)}
        return bare.suffix[1:] if len(alike) == 1 else bare.stem

    def _input(self, record: TableRow) -> Any:
        if self.input == "text":
            return text(record, "input 0", self.columns["input 0"])
        numbers = [number(record, name, column) for name, column in self.columns.items()]
        return numbers if self.input == "vector" else [[value] for value in numbers]

    def _output(self, record: TableRow) -> Any:
        if self.output == "class":
            return text(record, "target", self.label)
        return [number(record, "target", self.label)]
