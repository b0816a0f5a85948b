"""Splits by date: ``2018-01-01..``, ``2017-06..2017-08``, ``..2016``. Both ends belong to the range.

An end stands for all of its day, month, year, hour or minute: ``2017-06..2017-08`` are three months.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from torch import Tensor

from composer.core.problems import Invalid
from composer.data.series.steps import Step
from composer.data.series.times import DAY, SECOND, UNITS, read_date

#: An end of a range, with the parts that say how much time it stands for.
END = re.compile(r"\d{4}(?P<month>-\d\d?(?P<day>-\d\d?(?P<hour>[T ]\d\d?(?P<minute>:\d\d(?P<second>:\d\d)?)?)?)?)?")

NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")


def is_range(value: object) -> bool:
    """Whether the value of ``valid`` or ``test`` is a range of dates, not a share or a path."""
    return isinstance(value, str) and ".." in value and not re.search(r"[/\\]", value) and value != ".."


@dataclass(frozen=True)
class DateRange:
    """key: the knob that holds the range, for messages"""

    key: str
    text: str

    def __post_init__(self) -> None:
        if not any(self._bounds(dates=dates) for dates in (True, False)):
            raise Invalid(self.key, f"'{self.text}' is no range of dates. Write e.g. 2018-01-01.. or 2017-06..2017-08.")
        for dates in (True, False):
            first, end = self._bounds(dates=dates) or (None, None)
            if first is not None and end is not None and first >= end:
                raise Invalid(self.key, f"'{self.text}' ends before it begins. Write the earlier date first.")

    def _bounds(self, *, dates: bool) -> tuple[int | None, int | None] | None:
        """The first time of the range and the time after its last; None where an end is open, or cannot be read."""
        ends = [end.strip() for end in self.text.split("..")]
        read = _unit if dates else _number
        found = [read(end) if end else (None, None) for end in ends]
        if len(ends) != 2 or None in found or not any(ends):
            return None
        return found[0][0], found[1][1]  # type: ignore[index]

    def rows(self, times: Tensor, *, dates: bool) -> tuple[int, int]:
        """The first row within the range, and the row after its last, of increasing times."""
        bounds = self._bounds(dates=dates)
        if bounds is None:
            kinds = ("dates", "numbers") if dates else ("numbers", "dates")
            raise Invalid(
                self.key, f"'{self.text}' is a range of {kinds[1]}, but the times of this series are {kinds[0]}."
            )
        first, end = bounds
        start = 0 if first is None else int(torch.searchsorted(times, first))
        return start, len(times) if end is None else max(start, int(torch.searchsorted(times, end)))


def _unit(text: str) -> tuple[int, int] | None:
    """The first time of a year, month, day, hour, minute or second, and the first time after it."""
    found = END.fullmatch(text)
    whole = text if found is None or found["month"] else f"{text}-01"
    first = None if found is None else read_date(whole, "ymd")
    if found is None or first is None:
        return None
    sizes = (("second", SECOND), ("minute", 60 * SECOND), ("hour", 3600 * SECOND), ("day", DAY))
    size = next((size for part, size in sizes if found[part]), None)
    step = Step("duration", size) if size is not None else Step("months", 1 if found["month"] else 12)
    return first, int(step.later(torch.tensor([first]), torch.tensor([1]))[0])


def _number(text: str) -> tuple[int, int] | None:
    if NUMBER.fullmatch(text) is None:
        return None
    first = round(float(text) * UNITS)
    return first, first + 1
