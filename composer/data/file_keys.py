"""The keys of a ``data`` section that name files and say how they are read and divided, for all sources of files."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Annotated, Any, TypeVar, get_type_hints

from composer.core.block import Range
from composer.data.tables.reading import Reading
from composer.data.tables.table import Column

Built = TypeVar("Built")

#: The size of a split: a share of all records, or the path of its own files.
Share = Annotated[float, Range(low=0, below=1)] | str

#: The keys of every source of files, those of tables, and those of tables with numbers.
ALWAYS = ("path", "valid", "test", "skip_bad")
TABLE = ("seed", "header", "delimiter", "quotes", "encoding", "split_column", "split_by")
NUMBERS = (*TABLE, "decimal", "missing")


@dataclass(kw_only=True, eq=False)
class FileKeys(Reading):
    """The values of the keys; a key that a source does not have keeps its default."""

    path: str | None = None
    missing: list[str | float] | None = None
    valid: Share = 0.1
    test: Share = 0.0
    split_column: Column | None = None
    split_by: Column | None = None
    skip_bad: bool | None = False
    seed: int = 0


def reads_files(*keys: str) -> Callable[[Callable[..., Built]], Callable[..., Built]]:
    """Give a source these keys of files and those of every source, beside the keys of its own.

    The source, a function or the constructor of a class, gets their values as its last positional argument, a
    ``FileKeys``.
    """
    types = get_type_hints(FileKeys, include_extras=True)
    shared = {
        f.name: inspect.Parameter(f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=types[f.name])
        for f in fields(FileKeys)
        if f.name in (*ALWAYS, *keys)
    }

    def decorate(build: Callable[..., Built]) -> Callable[..., Built]:
        @wraps(build)
        def source(*itself: Any, **values: Any) -> Built:
            given = {name: values.pop(name) for name in shared if name in values}
            return build(*itself, FileKeys(**given), **values)

        hints = get_type_hints(build, include_extras=True)
        parameters = list(inspect.signature(build).parameters.values())
        own = [p.replace(annotation=hints[p.name]) for p in parameters if p.kind is p.KEYWORD_ONLY]
        itself = parameters[: -len(own) - 1]
        every = [*shared.values(), *own]
        source.__signature__ = inspect.Signature([*itself, *every])  # type: ignore[attr-defined]
        source.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        return source

    return decorate
