"""Any files of the user's own, as declared fields: each with a type (composer/data/fields) and a column."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from composer.core.problems import Invalid
from composer.core.registry import register
from composer.data.fields.field_type import Declared, FieldKeys
from composer.data.file_keys import NUMBERS, FileKeys, reads_files
from composer.data.file_source import FileSource, check_names
from composer.data.files.lines import find_files, kind_of
from composer.data.files.name_pattern import NamePattern
from composer.data.own.hub_reader import HubData, HubReader
from composer.data.tables.readers import PICTURES, SOUNDS, ByFile, Conll, FilePerExample
from composer.data.tables.reading import Reading
from composer.data.tables.table import Column, Reader, Table


@register("data", "table")
@reads_files(*NUMBERS)
def table(
    files: FileKeys,
    *,
    hub: str | HubData | None = None,
    fields: dict[str, Declared] | None = None,
    format: Literal["auto", "table", "conll", "files"] = "auto",
    pattern: str | None = None,
    parallel: str | None = None,
) -> FileSource:
    """The declared fields, by their names."""
    named = None if pattern is None else NamePattern(pattern)
    declared = fields or {}
    check_names(declared)
    types = {name: make(FieldKeys(f"fields.{name}.")) for name, make in declared.items()}

    data = _data_set(hub, files.path)

    def reader(columns: dict[str, Column], keys: dict[str, str], reading: Reading) -> Reader:
        if data is not None:
            return HubReader(columns, keys, reading, data=data)
        readers: dict[str, Reader] = {
            "table": Table(columns, keys, reading, parallel),
            "conll": Conll(columns, keys, reading),
            "files": FilePerExample(columns, keys, reading, files=lambda: source.parts.files["train"], pattern=named),
        }
        return ByFile(readers=readers, choose=format_of if format == "auto" else lambda file: format)

    source = FileSource(types, reader, files, find_files if data is None else data.find)
    return source


def _data_set(hub: str | HubData | None, path: str | None) -> HubData | None:
    """The data set of the Hugging Face hub that is read instead of files, if there is one."""
    if hub is not None and path is not None:
        raise Invalid("path", "has no effect: the data is that of data.hub. Set one of them to null.")
    if isinstance(hub, str):
        hub = HubData(hub)
        hub.key = FieldKeys(name="hub", train="hub.train", download="hub.download")
    return hub


def format_of(path: Path) -> str:
    """The reader of a file, by its suffix."""
    if kind_of(path) in ("conll", "conllu"):
        return "conll"
    return "files" if path.suffix.lower() in (*PICTURES, *SOUNDS) else "table"
