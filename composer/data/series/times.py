"""Times in the cells of a file, as whole numbers: microseconds since 1970, or millionths of a plain number."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from composer.data.layout.cutting import is_number

EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)

#: The units of a plain number that a time is counted in.
UNITS = 1_000_000

SECOND = 1_000_000
DAY = 86_400 * SECOND

#: The parts of a time that may have columns of their own, from the largest on.
PARTS = ("year", "month", "day", "hour", "minute", "second")

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

#: The forms of a date. A year of two digits is that of this century.
DATES = {
    "ymd": r"(?P<year>\d{4})(?:(?P<cut>[-/.])(?P<month>\d{1,2})(?P=cut)(?P<day>\d{1,2})|[-/](?P<only_month>\d{1,2}))",
    "dmy": r"(?P<day>\d{1,2})(?P<cut>[-/.])(?P<month>\d{1,2})(?P=cut)(?P<year>\d{4}|\d{2})",
    "mdy": r"(?P<month>\d{1,2})(?P<cut>[-/.])(?P<day>\d{1,2})(?P=cut)(?P<year>\d{4}|\d{2})",
    "compact": r"(?P<year>(?:19|20)\d\d)(?P<month>\d\d)(?P<day>\d\d)",
    "named": r"(?:(?P<day>\d{1,2})[- ])?(?P<name>[A-Za-z]{3,9})[- ](?P<year>\d{4})",
    "named_first": r"(?P<name>[A-Za-z]{3,9}) (?P<day>\d{1,2}),? (?P<year>\d{4})",
    "quarter": r"(?P<year>\d{4})[- ]?Q(?P<quarter>[1-4])",
}

#: A time of day after the date, and an offset from UTC.
CLOCK = (
    r"(?:(?:T| +)(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?)?(?: ?(?P<zone>Z|UTC|[+-]\d\d(?::?\d\d)?))?"
)

FORMS = {name: re.compile(date + CLOCK) for name, date in DATES.items()}

#: A time of day in a column of its own, which is no number: 18:00, 18.00.00.
TIME_OF_DAY = re.compile(r"\d{1,2}(:\d\d(:\d\d([.,]\d+)?)?|\.\d\d\.\d\d)( ?[AaPp]\.?[Mm]\.?)?")


def read_date(text: str, form: str) -> int | None:
    """The microseconds since 1970; None for a text that is no date of this form."""
    text = text.strip()
    if form == "ymd" and (quick := _iso(text)) is not None:
        return quick
    found = FORMS[form].fullmatch(text)
    if found is None or (is_number(text) and form != "compact"):  # a number such as 1013.2 is no month of a year
        return None
    try:
        return _moment(found.groupdict())
    except (ValueError, OverflowError):  # there is no such time
        return None


def _moment(part: Mapping[str, str | None]) -> int:
    """The microseconds of the named parts of a date."""
    year, hour = part["year"] or "", int(part["hour"] or 0)
    month = int(part.get("month") or part.get("only_month") or 1)
    if name := part.get("name"):
        month = MONTHS.index(name[:3].lower()) + 1
    elif quarter := part.get("quarter"):
        month = 3 * int(quarter) - 2
    if half := part["half"]:
        if not 1 <= hour <= 12:
            raise ValueError(f"{hour} {half}m")
        hour = hour % 12 + (12 if half in "pP" else 0)
    day, minute, second = (
        int(part.get(name) or default) for name, default in (("day", 1), ("minute", 0), ("second", 0))
    )
    whole = time_of([int(year) + (2000 if len(year) == 2 else 0), month, day, hour, minute, second])
    return whole + int((part["fraction"] or "").ljust(6, "0")[:6]) - _offset(part["zone"])


def _iso(text: str) -> int | None:
    """The common form 2018-01-31 13:00:00, read much faster; None for any other, which may be a date, too."""
    if text[4:5] != "-" or text[7:8] != "-":
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment - EPOCH) // MICROSECOND if moment.tzinfo is None else None


def _offset(zone: str | None) -> int:
    """The microseconds by which a zone such as +01:00 is ahead of UTC."""
    if zone is None or zone in ("Z", "UTC"):
        return 0
    minutes = 60 * int(zone[:3]) + int(zone[0] + (zone[3:].removeprefix(":") or "0"))
    return minutes * 60 * SECOND


def time_of(parts: Sequence[int]) -> int:
    """The microseconds of year, month, day, hour, minute and second; an error where there is no such time."""
    year, month, day, hour, minute, second = (*parts, *(0, 1, 1, 0, 0, 0)[len(parts) :])
    later = timedelta(days=1) if (hour, minute, second) == (24, 0, 0) else timedelta()
    return (datetime(year, month, day, hour % 24 if later else hour, minute, second) + later - EPOCH) // MICROSECOND


@dataclass(frozen=True)
class TimeForm:
    """How the time of a row is read.

    columns: its columns, by name or number
    form: a form of dates, of cells that are joined with a space; "parts" or "number"
    """

    columns: list[str | int]
    form: str

    @property
    def names(self) -> list[str]:
        return [str(column) for column in self.columns]

    @property
    def dates(self) -> bool:
        """Whether the times are dates, which have a calendar."""
        return self.form != "number"

    def read(self, cells: Sequence[Any]) -> int | None:
        """The time of a row; None where its cells hold none."""
        if self.form not in ("number", "parts"):
            return read_date(joined(cells), self.form)
        with suppress(TypeError, ValueError, OverflowError):
            numbers = [float(cell) for cell in cells]
            if self.form == "number":
                return round(numbers[0] * UNITS)
            if all(number.is_integer() for number in numbers) and 1000 <= numbers[0] <= 9999:
                return time_of([int(number) for number in numbers])
        return None

    def show(self, time: int, *, clock: bool = True) -> str:
        """A time as text: 2018-03-01 13:00:00, or the number.

        clock: whether the time of day is written
        """
        if not self.dates:
            return f"{time / UNITS:.10g}"
        moment = EPOCH + time * MICROSECOND
        return moment.isoformat(" ") if clock or time % DAY else moment.date().isoformat()


def joined(cells: Sequence[Any]) -> str:
    return " ".join(str(cell).strip() for cell in cells)


def fitting_forms(rows: Iterable[Sequence[Any]]) -> list[str]:
    """The forms of dates in which all rows can be read. Several fit where days and months cannot be told apart."""
    forms = list(FORMS)
    for cells in rows:
        text = joined(cells)
        forms = [form for form in forms if read_date(text, form) is not None]
        if not forms:
            break
    return forms
