"""The keys of a ``data`` section that name files and say how they are read and divided, for all sources of files."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import Any, Literal, get_type_hints

from composer.data.fields.field_type import FieldType
from composer.data.file_source import FileSource, MakeReader
from composer.data.splits.splits import Share
from composer.data.tables.reading import Reading
from composer.data.tables.table import Column

#: The keys of every source of files, those of tables, and those of tables with numbers.
ALWAYS = ("path", "valid", "test", "skip_bad", "seed")
TABLE = ("header", "delimiter", "quotes", "encoding", "split_column", "split_by")
NUMBERS = (*TABLE, "decimal", "missing")


@dataclass(kw_only=True)
class FileKeys:
    """The values of the keys; a key that a source does not have keeps its default."""

    path: str | None = None
    header: bool | None = None
    delimiter: str | None = None
    quotes: bool | None = None
    encoding: str | None = None
    decimal: Literal[".", ","] | None = None
    missing: list[str | float] | None = None
    valid: Share = 0.1
    test: Share = 0.0
    split_column: Column | None = None
    split_by: Column | None = None
    skip_bad: bool = False
    seed: int = 0
    reading: Reading = field(init=False)

    def __post_init__(self) -> None:
        self.reading = Reading(
            encoding=self.encoding, delimiter=self.delimiter, quotes=self.quotes, header=self.header,
            skip_bad=self.skip_bad, decimal=self.decimal, missing=self.missing,
        )  # fmt: skip

    def source(self, types: Mapping[str, FieldType], reader: MakeReader, **more: Any) -> FileSource:
        """The source of these files. ``more``: further arguments of ``FileSource``."""
        return FileSource(
            types, reader, self.path, self.valid, self.test, reading=self.reading, seed=self.seed,
            split_column=self.split_column, split_by=self.split_by, **more,
        )  # fmt: skip


def reads_files(*keys: str) -> Callable[[Callable[..., FileSource]], Callable[..., FileSource]]:
    """Give a source these keys of files and those of every source, beside the keys of its own.

    The source gets their values as its first argument, a ``FileKeys``.
    """
    types = get_type_hints(FileKeys, include_extras=True)
    shared = {
        f.name: inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=types[f.name])
        for f in fields(FileKeys)
        if f.name in (*ALWAYS, *keys)
    }

    def decorate(build: Callable[..., FileSource]) -> Callable[..., FileSource]:
        @wraps(build)
        def source(**values: Any) -> FileSource:
            given = {name: values.pop(name) for name in shared if name in values}
            return build(FileKeys(**given), **values)

        _, *own = inspect.signature(build).parameters.values()
        hints = get_type_hints(build, include_extras=True)
        own = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]
        every = [*shared.values(), *own]
        source.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        source.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        return source

    return decorate
