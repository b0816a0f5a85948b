"""The rows of files in the order of their times, packed as numbers. A missing value is NaN."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from composer.core.problems import UserError
from composer.data.files.bad_rows import BadRow, BadRows, MissingValue
from composer.data.packed.packed_rows import Packer
from composer.data.series.steps import counted
from composer.data.series.times import TimeForm
from composer.data.tables.table import TableRow, number

#: The number of rows that are read at a time.
CHUNK = 5000


class SeriesRows(NamedTuple):
    """The rows of files, one file after the other.

    ends: (files,), the row after the last one of every file
    times: (n,), increasing in a file; without a time column, the numbers of the rows, bad rows included
    values: (n, D), float32
    lines: (n,), the lines of the file
    """

    files: list[Path]
    ends: Tensor
    times: Tensor
    values: Tensor
    lines: Tensor

    def place(self, row: int) -> str:
        return f"{self.files[int(torch.searchsorted(self.ends, row, right=True))]}:{int(self.lines[row])}"


def joined(each: Iterable[SeriesRows]) -> SeriesRows:
    """The rows of all files, of which each was read alone."""
    files, ends, times, values, lines = zip(*each, strict=True)
    every = list(chain.from_iterable(files))
    return SeriesRows(every, torch.cat(ends).cumsum(0), torch.cat(times), torch.cat(values), torch.cat(lines))


def read_rows(
    file: Path, records: Iterator[TableRow], channels: Sequence[str], form: TimeForm | None, bad: BadRows
) -> SeriesRows:  # fmt: skip
    """All rows of a file, as they come."""
    values, times, lines = Packer(torch.float32, (len(channels),)), Packer(torch.int64), Packer(torch.int32)
    columns, before = [] if form is None else form.names, bad.met_so_far

    def read(record: TableRow) -> tuple[int, int | None, list[float]]:
        numbers = [_number(record, name) for name in channels]
        return record.line, None if form is None else _time(record, form, columns), numbers

    def timed() -> Iterator[tuple[int, int, list[float]]]:
        """Without a time column, a row that was left out takes its place in the count, so that a gap remains."""
        for count, (line, time, numbers) in enumerate(bad.each(records, read)):
            yield line, count + bad.met_so_far - before if time is None else time, numbers

    rows = timed()
    while chunk := list(islice(rows, CHUNK)):
        each_line, each_time, each_numbers = zip(*chunk, strict=True)
        values.add([torch.tensor(each_numbers, dtype=torch.float32)])
        times.add([each_time])
        lines.add([each_line])
    found = times.finish().values
    return SeriesRows([file], torch.tensor([len(found)]), found, values.finish().values, lines.finish().values)


def _number(record: TableRow, name: str) -> float:
    """A cell as a number; NaN where it is missing."""
    try:
        return number(record, name, name)
    except MissingValue:
        return math.nan


def _time(record: TableRow, form: TimeForm, columns: Sequence[str]) -> int:
    cells = [record.values[name] for name in columns]
    found = form.read(cells)
    if found is None:
        shown = " ".join(map(str, cells))
        raise BadRow(f"{record.place}: the time ({', '.join(columns)}) is '{shown}', which is none. Mend the cell.")
    return found


def in_order(rows: SeriesRows, form: TimeForm, *, sort: bool) -> tuple[SeriesRows, str | None]:
    """The rows with increasing times, and a remark if they had to be sorted. Without ``sort``, disorder is an error."""
    back = (rows.times.diff() <= 0).nonzero()[:, 0]
    if not len(back):
        return rows, None
    if not sort:
        row = int(back[0])
        now, last = (form.show(int(rows.times[i])) for i in (row + 1, row))
        same = now == last
        found = f"its time, {now}, is that of line {int(rows.lines[row])}, too" if same else (
            f"its time, {now}, comes before that of line {int(rows.lines[row])}, {last}"
        )  # fmt: skip
        more = f" ({len(back):,} such rows)" if len(back) > 1 else ""
        raise UserError(
            f"{rows.place(row + 1)}: {found}{more}. data.sort=true sorts rows by their times and keeps the first of "
            "those with the same time; data.time=null takes rows as they come. Several series need a file each."
        )
    order = rows.times.argsort(stable=True)
    times = rows.times[order]
    order = order[torch.cat([torch.ones(1, dtype=torch.bool), times.diff() > 0])]
    twice = len(times) - len(order)
    remark = f"{rows.files[0]}: its rows were sorted by their times" + (
        f", and {counted(twice, 'row')} with the time of another left out" if twice else ""
    )
    ends = torch.tensor([len(order)])
    ordered = SeriesRows(rows.files, ends, rows.times[order], rows.values[order], rows.lines[order])
    return ordered, f"{remark} (data.sort)."
