"""Splits by date: ``2018-01-01..``, ``2017-06..2017-08``, ``..2016``. Both ends belong to the range.

An end stands for all of its day, month, year, hour or minute: ``2017-06..2017-08`` are three months.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy
import torch
from torch import Tensor

from composer.core.problems import Invalid
from composer.data.series.times import UNITS, time_of

#: An end of a range: a year, month, day, hour, minute or second.
END = re.compile(r"\d{4}(-\d\d?(-\d\d?([T ]\d\d?(:\d\d(:\d\d)?)?)?)?)?")

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
        found = [bounds for dates in (True, False) if (bounds := self._bounds(dates=dates)) is not None]
        if not found:
            raise Invalid(self.key, f"'{self.text}' is no range of dates. Write e.g. 2018-01-01.. or 2017-06..2017-08.")
        if any(first is not None and end is not None and first >= end for first, end in found):
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
    if END.fullmatch(text) is None:
        return None
    parts = [int(part) for part in re.findall(r"\d+", text)]
    try:
        first = time_of(parts)
    except (ValueError, OverflowError):  # there is no such date
        return None
    unit = "YMDhms"[len(parts) - 1]
    after = numpy.datetime64(first, "us").astype(f"datetime64[{unit}]") + 1
    return first, int(after.astype("datetime64[us]").astype("int64"))


def _number(text: str) -> tuple[int, int] | None:
    if NUMBER.fullmatch(text) is None:
        return None
    first = round(float(text) * UNITS)
    return first, first + 1
