"""Any files of the user's own, as declared fields: each with a type (composer/data/fields) and a column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

from composer.core.block import Section
from composer.core.registry import register
from composer.data.fields.field_type import FieldKeys, FieldType
from composer.data.file_source import FileSource, check_names
from composer.data.files import kind_of
from composer.data.name_pattern import NamePattern
from composer.data.readers import PICTURES, SOUNDS, ByFile, Conll, FilePerExample, Reader
from composer.data.reading import Reading
from composer.data.splits import Share
from composer.data.tables import Column, Table

#: A declared field, without the keys under which the YAML declares it.
Declared = Annotated[Callable[[FieldKeys], FieldType], Section("field")]


@register("data", "table")
def table(
    *,
    path: str | None = None,
    fields: dict[str, Declared] | None = None,
    format: Literal["auto", "table", "conll", "files"] = "auto",
    pattern: str | None = None,
    parallel: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    quotes: bool | None = None,
    encoding: str | None = None,
    valid: Share = 0.1,
    test: Share = 0.0,
    split_column: Column | None = None,
    split_by: Column | None = None,
    skip_bad: bool = False,
    seed: int = 0,
) -> FileSource:
    """The declared fields, by their names."""
    reading = Reading(encoding=encoding, delimiter=delimiter, quotes=quotes, header=header, skip_bad=skip_bad)
    named = None if pattern is None else NamePattern(pattern)
    declared = fields or {}
    check_names(declared)
    types = {name: make(FieldKeys(f"fields.{name}.")) for name, make in declared.items()}

    def reader(columns: dict[str, Column], keys: dict[str, str]) -> Reader:
        readers: dict[str, Reader] = {
            "table": Table(columns, keys, reading=reading, parallel=parallel),
            "conll": Conll(columns, keys, reading),
            "files": FilePerExample(columns, keys, lambda: source.parts.files["train"], reading, named),
        }
        return ByFile(readers, format_of if format == "auto" else lambda file: format)

    source: FileSource = FileSource(
        types, reader, path, valid, test, reading=reading, seed=seed, split_column=split_column, split_by=split_by
    )
    return source


def format_of(path: Path) -> str:
    """The reader of a file, by its suffix."""
    if kind_of(path) in ("conll", "conllu"):
        return "conll"
    return "files" if path.suffix.lower() in (*PICTURES, *SOUNDS) else "table"
