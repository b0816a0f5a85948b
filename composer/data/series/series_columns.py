"""Which columns of a file are the time and which are channels, where the config does not say it: with the reasons."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, takewhile
from typing import Any

from composer.core.problems import Invalid, listed
from composer.data.layout import Numerals
from composer.data.series.steps import regular_share
from composer.data.series.times import PARTS, TIME_OF_DAY, TimeForm, fitting_forms
from composer.data.tables.table import Column, TableRow

#: Every row at the beginning of a file is looked at, then one of so many.
FIRST, EVERY = 1000, 50

#: The rows from which a column of 1, 2, 3, ... is a row number.
NUMBERED = 10

#: The share of neighbouring row numbers that are one apart.
COUNTING = 0.9

#: The largest share of missing cells in a column that is a channel by default.
MOST_MISSING = 0.5

#: The names of a column of hours beside a column of dates.
HOURS = ("hour", "hours", "hr", "time")


@dataclass
class LookedAt:
    """Some rows of a file: its columns and their cells, by the columns' names as texts, and how they write numbers."""

    columns: Mapping[str, Column]
    cells: dict[str, list[Any]]
    numerals: Numerals = field(default_factory=Numerals)

    @classmethod
    def of(cls, columns: Mapping[str, Column], records: Iterable[TableRow]) -> LookedAt:
        looked = cls(columns, {name: [] for name in columns})
        for row, record in enumerate(records):
            if row < FIRST or row % EVERY == 0:
                looked.numerals = record.numerals
                for name, cell in record.values.items():
                    looked.cells[name].append(cell)
        return looked

    def __len__(self) -> int:
        return len(next(iter(self.cells.values())))

    def chosen(self, names: Sequence[str]) -> list[Column]:
        return [self.columns[name] for name in names]

    def present(self, name: str) -> list[Any]:
        return [cell for cell in self.cells[name] if not self.numerals.missing_number(cell)]

    def missing_share(self, name: str) -> float:
        """The share of missing cells, in rows that are spread evenly over a long file."""
        cells = self.cells[name]
        even = cells if len(cells) <= FIRST else cells[:FIRST:EVERY] + cells[FIRST:]
        return sum(map(self.numerals.missing_number, even)) / len(even)

    def together(self, names: Sequence[str]) -> list[list[Any]]:
        """The cells of several columns row by row, without rows that miss one."""
        rows = (list(cells) for cells in zip(*(self.cells[name] for name in names), strict=True))
        return [cells for cells in rows if not any(map(self.numerals.missing_number, cells))]


def find_time(looked: LookedAt, channels: Collection[str]) -> TimeForm | None:
    """The column of dates, alone or with a column of hours beside it, or the columns year, month, day and so on.

    channels: columns that the config names as channels, which are never the time
    """
    names = [name for name in looked.cells if name not in channels]
    for name in names:
        if (found := _dates(looked, [name])) is not None:
            clock = _clock(looked, name, [other for other in names if other != name])
            return (_dates(looked, [name, *clock]) if clock else None) or found
    by_name = {name.strip().lower(): name for name in names}
    parts = [by_name[part] for part in takewhile(by_name.__contains__, PARTS)]
    return _if_fitting(TimeForm(looked.chosen(parts), "parts"), looked.together(parts))


def _clock(looked: LookedAt, date: str, others: Sequence[str]) -> list[str]:
    """The column of the time of day beside a column of dates that has none."""
    cells = looked.present(date)
    if any(":" in str(cell) for cell in cells):
        return []
    for name in others:
        beside = looked.present(name)
        if beside and all(TIME_OF_DAY.fullmatch(str(cell).strip()) for cell in beside):
            return [name]
    repeats = sum(one == other for one, other in pairwise(cells))
    hours = [name for name in others if name.strip().lower() in HOURS and 2 * repeats > len(cells)]
    return [name for name in hours if fitting_forms(looked.together([date, name]))][:1]


def _if_fitting(form: TimeForm, rows: Sequence[Sequence[Any]]) -> TimeForm | None:
    return form if rows and all(form.read(cells) is not None for cells in rows) else None


def _dates(looked: LookedAt, names: Sequence[str]) -> TimeForm | None:
    """The form in which these columns hold dates; of several, the first of those in which they are the most regular."""
    columns, rows = looked.chosen(names), looked.together(names)
    forms = [TimeForm(columns, form) for form in fitting_forms(rows)] if rows else []
    if len(forms) < 2:
        return next(iter(forms), None)

    def regular(form: TimeForm) -> float:
        return regular_share([time for cells in rows[:FIRST] if (time := form.read(cells)) is not None])

    return max(forms, key=regular)


def named_time(looked: LookedAt, names: Sequence[str]) -> TimeForm:
    """The form of the columns that the config names as the time."""
    rows = looked.together(names)
    if not rows:
        raise Invalid("time", f"no row has a time in {listed(names)}.")
    if (found := _dates(looked, names)) is not None:
        return found
    form = TimeForm(looked.chosen(names), "number" if len(names) == 1 else "parts")
    if len(names) <= len(PARTS) and (found := _if_fitting(form, rows)) is not None:
        return found
    raise Invalid(
        "time",
        f"{listed(names)}: the cells are read as no time, e.g. '{' '.join(map(str, rows[0]))}'. "
        "Write 2018-01-31 13:00:00, 31/01/2018 13:00, a number, or name the columns of year, month, day, hour in this "
        "order. data.time=null takes every row as the next step.",
    )


def find_channels(looked: LookedAt, time: TimeForm | None) -> tuple[list[Column], dict[str, str]]:
    """The columns of numbers that are measurements, and for every other column the reason why it is none."""
    left: dict[str, str] = dict.fromkeys(time.names if time else (), "the time")
    doubtful: dict[str, str] = {}
    parts = time is not None and time.dates
    for name in looked.cells:
        cells = looked.present(name)
        numbers = [looked.numerals.number(cell) for cell in cells if looked.numerals.is_number(cell)]
        if name in left:
            continue
        if not cells:
            left[name] = "no value"
        elif 2 * len(numbers) < len(cells):
            dates = parts and fitting_forms([[cell] for cell in cells])
            left[name] = "the time" if dates else f"no numbers, e.g. '{cells[0]}'"
        elif (share := looked.missing_share(name)) > MOST_MISSING:
            left[name] = f"{100 * share:.0f} % missing"
        elif parts and name.strip().lower() in PARTS and all(number.is_integer() for number in numbers):
            left[name] = "a part of the time"
        elif _row_number(numbers, looked):
            doubtful[name] = "row numbers"
        elif len(looked) > 1 and len(set(numbers)) == 1:
            doubtful[name] = f"always {cells[0]}"
    chosen = [name for name in looked.cells if name not in left and name not in doubtful]
    if not chosen:  # a series may well be 1, 2, 3, ... or constant
        chosen, doubtful = list(doubtful), {}
    return looked.chosen(chosen), left | doubtful


def _row_number(numbers: Sequence[float], looked: LookedAt) -> bool:
    """Whether the numbers count the rows: 0, 1, 2, ... or 1, 2, 3, ..., apart from rows that are missing."""
    return len(numbers) >= max(NUMBERED, len(looked)) and numbers[0] in (0, 1) and counts_up(numbers[:FIRST])


def counts_up(numbers: Sequence[float]) -> bool:
    """Whether each number is larger than the one before, nearly always by one."""
    apart = [later - earlier for earlier, later in pairwise(numbers)]
    return bool(apart) and min(apart) >= 1 and apart.count(1) >= COUNTING * len(apart)
