"""``metrics.csv`` in the run's folder: one line for every logged step.

When a new metric appears (such as a validation metric), the header gets another column: the whole file is written to a
temporary file and renamed. Every line is flushed at once, so that a killed process leaves at most its last line
incomplete. A resumed run drops an incomplete last line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, TextIO

from composer.core.problems import UserError
from composer.core.registry import register
from composer.core.storage.atomic_files import write_text
from composer.training.loggers.logger import Logger, RunInfo, Status

FILE = "metrics.csv"
STEP = "step"


@register("logger", "csv")
class Csv(Logger):
    prefixed: ClassVar[bool] = False  # the file is read by the names of metrics.jsonl

    def open(self, run: RunInfo) -> None:
        self.path = run.folder / FILE
        self.file: TextIO | None = None
        step = run.resumed_from
        columns, rows = read_rows(self.path) if step is not None and self.path.exists() else ([STEP], [])
        self._rewrite(columns, [row for row in rows if step is not None and int(row[0]) <= step])

    def metrics(self, step: int, values: Mapping[str, float]) -> None:
        new = [name for name in values if name not in self.columns]
        if new:
            self._rewrite([*self.columns, *new], read_rows(self.path)[1])
        assert self.file is not None
        self.file.write(_line([step, *(values.get(name, "") for name in self.columns[1:])]))
        self.file.flush()

    def finish(self, status: Status, summary: Mapping[str, float]) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    def _rewrite(self, columns: list[str], rows: Sequence[Sequence[str]]) -> None:
        """Write the file with a header of these columns and these rows, and leave it open for appending."""
        if self.file is not None:
            self.file.close()
        self.columns = columns
        write_text(self.path, "".join(_line([*row, *[""] * (len(columns) - len(row))]) for row in (columns, *rows)))
        self.file = self.path.open("a", encoding="utf-8", newline="")


def read_rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """The columns and the rows of a file, without an incomplete last line."""
    with path.open(encoding="utf-8", newline="") as file:
        text = file.read()
    whole = text[: text.rfind("\n") + 1]
    rows = list(csv.reader(io.StringIO(whole, newline="")))
    if not rows:
        return [STEP], []
    columns, *rows = rows
    for number, row in enumerate(rows, start=2):
        if len(row) != len(columns) or not row[0].isdecimal():
            raise UserError(
                f"{path}:{number}\n  is not a row of the columns {', '.join(columns)}. Mend that line, or move the "
                "file away to begin another."
            )
    return columns, rows


def _line(cells: Iterable[object]) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\n").writerow(cells)
    return buffer.getvalue()
