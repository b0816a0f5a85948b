"""The files of a series: which columns are read, and the rows of every file in the order of their times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict
from pathlib import Path
from typing import Any

from composer.core.problems import Invalid, UserError, listed
from composer.data.files.bad_rows import BadRows
from composer.data.series.gaps import Fill, Stretches, gaps_in_words, hops_of, step_in_words, stretches_of
from composer.data.series.series_columns import LookedAt, find_channels, find_time, named_time
from composer.data.series.series_rows import SeriesRows, in_order, joined, read_rows
from composer.data.series.steps import Step, find_step
from composer.data.series.times import TimeForm
from composer.data.tables.reading import Reading
from composer.data.tables.table import Column, Columns, Table

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
        self.reading, self.given, self.sort = reading, channels, sort
        self.finds_time = time == "auto"
        self.named_time: list[Column] = []  # the columns that the config names as the time
        if not self.finds_time and time is not None:
            self.named_time = list(time) if isinstance(time, list) else [time]
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
        if self.given is not None and not self.given:
            raise Invalid("channels", "is empty. Name at least one column, or leave it null for all.")
        looked = self._look(file, self.given or ())
        if not len(looked):
            raise UserError(f"{file}: has a header, but no row below it.")
        if self._names_were_read(looked):
            self.reading.header = True  # a first row without any number can only hold names
            self.choose(file)
            return
        self.form = self._find_form(looked, self.given or ())
        chosen, reasons = find_channels(looked, self.form)
        self.columns = list(self.given or chosen)
        if not self.columns:
            raise Invalid("channels", f"no column of '{file}' holds numbers. Name the channels.")
        self._remark_columns(file, looked, reasons)

    def _look(self, file: Path, channels: Sequence[Column]) -> LookedAt:
        """Some rows of a file, without the bad ones: whether these are errors is said when they are read."""
        known = [*channels, *self.named_time]
        named = {column: column for column in known if isinstance(column, str)}  # then the first line holds names
        every = [*Table(named, reading=self.reading).every_column(file), *known]
        keys = dict.fromkeys(map(str, every), "channels") | dict.fromkeys(map(str, self.named_time), "time")
        lenient = copy(self.reading)
        lenient.bad = BadRows(skip=True)
        columns = {str(column): column for column in every}
        return LookedAt.of(columns, Table(columns, keys, reading=lenient).read(file))

    def _names_were_read(self, looked: LookedAt) -> bool:
        first = [cells[0] for cells in looked.cells.values()]
        unknown = self.reading.header is None and not any(isinstance(column, str) for column in looked.columns.values())
        return unknown and not any(looked.numerals.numeric([cell]) for cell in first)

    def _find_form(self, looked: LookedAt, channels: Sequence[Column]) -> TimeForm | None:
        wanted = {str(column) for column in channels}
        if self.finds_time:
            return find_time(looked, wanted)
        names = [str(column) for column in self.named_time]
        for name in names:
            if name in wanted:
                raise Invalid("time", f"'{name}' is a channel, too (data.channels). Name it once.")
        return named_time(looked, names) if names else None

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

    # What they hold

    def read(self, file: Path) -> SeriesRows:
        """The rows of a file in the order of their times."""
        time = [] if self.form is None else self.form.columns
        columns = {str(column): column for column in (*time, *self.columns)}
        keys = dict.fromkeys(map(str, time), "time") | dict.fromkeys(self.names, "channels")
        records = Table(columns, keys, reading=self.reading).read(file)
        try:
            rows = read_rows(file, records, self.names, self.form, self.reading.bad)
        except Invalid as error:
            if error.parameter != "time":
                raise
            todo = "Name the time: data.time=...; data.time=null takes every row as the next step."
            raise Invalid("time", f"{error.message} {todo}") from error
        if self.form is None:
            return rows
        rows, remark = in_order(rows, self.form, sort=self.sort)
        self.remark(remark)
        return rows

    def stretches(self, files: list[SeriesRows], fill: Fill | None, length: int) -> Stretches:
        """The stretches of files without a gap, in steps that are found in them unless they are known."""
        if self.form is None:
            self.step = ROW
        elif self.step is None:
            self.step = find_step((rows.times for rows in files), dates=self.form.dates)
        rows = joined(files)
        hops = hops_of(rows, self.step)
        self.gaps = gaps_in_words(rows, hops, self.names, self.step, self.form, fill, length)
        self.remark(self.gaps)
        return stretches_of(rows, hops, self.step, fill, length)

    @property
    def steps_in_words(self) -> str:
        """The step, where it is known from times."""
        return "" if self.form is None else f" of {step_in_words(self.step, self.form)}"

    # What is kept in a checkpoint

    def state(self) -> dict[str, Any]:
        if self.looks_up_time:
            return {"columns": list(self.columns)}
        time, step = (None if part is None else asdict(part) for part in (self.form, self.step))
        return {"columns": list(self.columns), "time": time, "step": step}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take the columns and the step of a checkpoint. Older checkpoints have no time and no step."""
        self.columns = list(state["columns"])
        time, step = state.get("time"), state.get("step")
        self.form = None if time is None else TimeForm(**time)
        self.step = None if step is None else Step(**step)
        renamed = not self.finds_time and list(map(str, self.named_time)) != (self.form.names if self.form else [])
        self.looks_up_time = renamed or "time" not in state

    def look_up_time(self, file: Path) -> None:
        """Find the time in a file where the checkpoint does not say it, or the config names other columns."""
        if self.looks_up_time:
            if self.form is None:
                self.step = None  # that of the rows
            self.form, self.looks_up_time = self._find_form(self._look(file, self.columns), self.columns), False
