"""Tables in Parquet files, read with pyarrow in chunks of rows, and only the columns that are needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from composer.core.extras import extra
from composer.core.problems import UserError

#: The number of rows read at a time.
CHUNK = 1000


def column_names(path: Path) -> list[str]:
    """The names of the columns; the part of a nested column is called 'outer.inner'."""
    with _opened(path) as file:
        return file.schema_arrow.empty_table().flatten().column_names


def rows(path: Path, columns: list[str]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The number of each row, counted from 1, and its cells in these columns, which may repeat."""
    arrow = extra("pyarrow", f"reading '{path}'", "hub")
    number = 0
    with _opened(path) as file:
        for batch in file.iter_batches(CHUNK, columns=list(dict.fromkeys(columns))):
            cells = arrow.Table.from_batches([batch]).flatten().to_pydict()
            for values in zip(*(cells[column] for column in columns), strict=True):
                number += 1
                yield number, values
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
