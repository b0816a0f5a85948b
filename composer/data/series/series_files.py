"""The files of a series: which columns are read, and the rows of every file in the order of their times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Any

from composer.core.problems import Invalid, UserError, listed
from composer.data.files.bad_rows import BadRows
from composer.data.series.gaps import Fill, GapCount, Stretches, in_words, stretches_of
from composer.data.series.series_columns import LookedAt, find_channels, find_time, named_time
from composer.data.series.series_rows import SeriesRows, in_order, read_rows
from composer.data.series.steps import Step, find_step
from composer.data.series.times import TimeForm
from composer.data.tables.reading import Reading
from composer.data.tables.table import Column, Columns, Table, TableRow

#: The columns of the time: found by itself, none, or named.
TimeColumns = str | int | Columns | None

#: The most columns that a remark names.
SHOWN = 40

#: The step of a series without times: the number of a row, bad rows included.
ROW = Step("duration", 1)


class SeriesFiles:
    """Reads the files of one source.

    channels: the columns to read; None: all columns of numbers
    time: the columns of the time; "auto": looked up; None: every row is the next step
    sort: whether rows are sorted by their times; otherwise disorder is an error
    """

    def __init__(self, reading: Reading, channels: Columns | None, time: TimeColumns, *, sort: bool) -> None:
        self.reading, self.given, self.time, self.sort = reading, channels, time, sort
        self.columns: list[Column]
        self.form: TimeForm | None
        self.step: Step | None = None
        self.looks_up_time = False  # whether the form is still to be found, in the first file that is read
        self.gaps: str | None = None  # what is said about the gaps of the files
        self._remarks: dict[str, None] = {}  # files may be read several times

    @property
    def remarks(self) -> list[str]:
        return list(self._remarks)

    def remark(self, sentence: str | None) -> None:
        if sentence is not None:
            self._remarks[sentence] = None

    @property
    def names(self) -> list[str]:
        return [str(column) for column in self.columns]

    # Which columns are read

    def choose(self, file: Path) -> None:
        """Find the columns of the time and the channels in a file."""
        every = self._every_column(file, [*(self.given or ()), *self._listed_time])
        if self.given is not None and not self.given:
            raise Invalid("channels", "is empty. Name at least one column, or leave it null for all.")
        wanted = {str(column) for column in self.given or ()}
        for column in self.given or ():
            if str(column) not in map(str, every):
                next(self._table([column], "channels").read(file), None)  # raises the error of a missing column
        looked = self._look(file, every)
        if not looked.rows:
            raise UserError(f"{file}: has a header, but no row below it.")
        if self._names_were_read(looked):
            self.reading.header = True  # a first row without any number can only hold names
            self.choose(file)
            return
        self.form = self._find_form(looked, wanted, file)
        chosen, reasons = find_channels(looked, self.form)
        self.columns = list(self.given or chosen)
        if not self.columns:
            raise Invalid("channels", f"no column of '{file}' holds numbers. Name the channels.")
        self._remark_columns(file, looked, reasons)

    def _look(self, file: Path, columns: Columns) -> LookedAt:
        """Some rows of a file, without the bad ones: whether these are errors is said when they are read."""
        lenient = copy(self.reading)
        lenient.bad = BadRows(skip=True)
        names = {str(column): column for column in columns}
        return LookedAt.of(columns, Table(names, reading=lenient).read(file))

    def _names_were_read(self, looked: LookedAt) -> bool:
        first = [cells[0] for cells in looked.cells.values()]
        unknown = self.reading.header is None and isinstance(looked.columns[0], int)
        return unknown and not any(looked.numerals.numeric([cell]) for cell in first)

    def _find_form(self, looked: LookedAt, channels: set[str], file: Path) -> TimeForm | None:
        if self.time == "auto":
            return find_time(looked, channels)
        names = self._named_columns
        for name in names:
            if name not in looked.cells:
                next(self._table(self._listed_time, "time").read(file), None)
            if name in channels:
                raise Invalid("time", f"'{name}' is a channel, too (data.channels). Name it once.")
        return named_time(looked, names) if names else None

    @property
    def _listed_time(self) -> list[Column]:
        """The columns that the config names as the time."""
        if self.time is None or self.time == "auto":
            return []
        return list(self.time) if isinstance(self.time, list) else [self.time]

    @property
    def _named_columns(self) -> list[str]:
        return [str(column) for column in self._listed_time]

    def _remark_columns(self, file: Path, looked: LookedAt, reasons: Mapping[str, str]) -> None:
        """Say which columns are read by default, and why the others are not."""
        time = self.form.names if self.form else []
        unread = [name for name in looked.cells if name not in self.names and name not in time]
        if not unread and not time:
            return
        said = f"reads {listed(self.names, SHOWN)} (data.channels)"
        if time:
            said += f" at the times in {' '.join(time)} (data.time)"
        if unread:
            why = (f"{name} ({reasons[name]})" if name in reasons else name for name in unread)
            said += f"; not read: {listed(why, SHOWN)}"
        self.remark(f"{file}: {said}.")

    def _every_column(self, file: Path, known: Iterable[Column]) -> Columns:
        """All columns of a file. Where a column is known by its name, the first line holds names."""
        named = [column for column in known if isinstance(column, str)]
        return self._table(named, "channels").every_column(file)

    def _table(self, columns: Iterable[Column], key: str) -> Table:
        names = {str(column): column for column in columns}
        return Table(names, dict.fromkeys(names, key), reading=self.reading)

    def _records(self, file: Path) -> Iterator[TableRow]:
        time = () if self.form is None else self.form.columns
        columns = {str(column): column for column in (*time, *self.columns)}
        keys = {str(column): "time" for column in time} | dict.fromkeys(self.names, "channels")
        return Table(columns, keys, reading=self.reading).read(file)

    # What they hold

    def read(self, file: Path) -> SeriesRows:
        """The rows of a file in the order of their times."""
        self._check_time(file)
        rows = read_rows(file, self._records(file), self.names, self.form, self.reading.bad)
        if self.form is None:
            return rows
        rows, remark = in_order(rows, self.form, sort=self.sort)
        self.remark(remark)
        return rows

    def _check_time(self, file: Path) -> None:
        has = [str(column) for column in self._every_column(file, self.columns)]
        for name in self.form.names if self.form is not None else ():
            if name not in has:
                raise Invalid(
                    "time",
                    f"there is no column '{name}' in '{file}'. Name the time: data.time=...; data.time=null takes "
                    f"every row as the next step.  (has: {listed(has)})",
                )

    def stretches(self, files: list[SeriesRows], fill: Fill | None, length: int) -> list[Stretches]:
        """The stretches of all files without a gap, in steps that are found in them unless they are known."""
        if self.form is None:
            self.step = ROW
        elif self.step is None:
            self.step = find_step((rows.times for rows in files), dates=self.form.dates)
        gaps = GapCount()
        for rows in files:
            gaps.add(rows, self.step, self.names)
        self.gaps = gaps.sentence(self.step, self.form, fill, length)
        self.remark(self.gaps)
        return [stretches_of(rows, self.step, fill, length) for rows in files]

    @property
    def steps_in_words(self) -> str:
        """The step, where it is known from times."""
        return "" if self.form is None else f" of {in_words(self.step, self.form)}"

    # What is kept in a checkpoint

    def state(self) -> dict[str, Any]:
        if self.looks_up_time:
            return {"columns": list(self.columns)}
        form = None if self.form is None else {"columns": list(self.form.columns), "form": self.form.form}
        return {"columns": list(self.columns), "time": form, "step": None if self.step is None else self.step.plain()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take the columns and the step of a checkpoint. Older checkpoints have no time and no step."""
        self.columns = list(state["columns"])
        saved, step = state.get("time"), state.get("step")
        self.form = None if saved is None else TimeForm(tuple(saved["columns"]), saved["form"])
        self.step = None if step is None else Step.restored(step)
        renamed = self.time != "auto" and self._named_columns != (self.form.names if self.form else [])
        self.looks_up_time = renamed or "time" not in state

    def look_up_time(self, file: Path) -> None:
        """Find the time in a file where the checkpoint does not say it, or the config names other columns."""
        if self.looks_up_time:
            looked = self._look(file, self._every_column(file, self.columns))
            if self.form is None:
                self.step = None  # that of the rows
            self.form, self.looks_up_time = self._find_form(looked, set(self.names), file), False
