"""Tables in Parquet files, through pyarrow: some rows at a time, and only the columns asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from composer.core.extras import extra
from composer.core.problems import UserError

#: Rows read at a time.
CHUNK = 1000


def column_names(path: Path) -> list[str]:
    """The columns by name; a part of a nested one as 'outer.inner'."""
    with _opened(path) as file:
        return file.schema_arrow.empty_table().flatten().column_names


def rows(path: Path, columns: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each row's number, counted from 1, and its cells by column."""
    arrow = extra("pyarrow", f"reading '{path}'", "hub")
    number = 0
    with _opened(path) as file:
        for batch in file.iter_batches(CHUNK, columns=columns):
            cells = arrow.Table.from_batches([batch]).flatten().to_pydict()
            for values in zip(*(cells[column] for column in columns), strict=True):
                number += 1
                yield number, dict(zip(columns, values, strict=True))
    if number == 0:
        raise UserError(f"{path}: is empty. Give a file with at least one row.")


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    arrow = extra("pyarrow", f"reading '{path}'", "hub")
    parquet = extra("pyarrow.parquet", f"reading '{path}'", "hub")
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (arrow.ArrowException, OSError) as error:
        raise UserError(f"{path}: cannot be read as Parquet: {str(error).splitlines()[0]} Is it whole?") from error
