"""The step of a series: the time from one row to the next. Months and weekdays are steps, too, though they differ in
length: monthly data and data of working days have no gaps because of that."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy
import torch
from torch import Tensor

from composer.data.series.times import DAY, SECOND, UNITS

#: The units in which a duration is said.
DURATIONS = (("week", 7 * DAY), ("day", DAY), ("hour", 3600 * SECOND), ("minute", 60 * SECOND), ("second", SECOND))


@dataclass(frozen=True)
class Step:
    """kind: "duration" for ``size`` units of time, "months" for ``size`` months, "weekdays" for the days from Monday to
    Friday
    """

    kind: Literal["duration", "months", "weekdays"]
    size: int = 1

    def between(self, times: Tensor) -> Tensor:
        """(n - 1,), the number of steps from each time to the next; 0 where it is no whole positive number."""
        places, exact = self._places(times)
        steps = places.diff()
        whole = (steps.remainder(self.size) == 0) & exact & (steps > 0)
        return torch.where(whole, steps.div(self.size, rounding_mode="floor"), 0)

    def _places(self, times: Tensor) -> tuple[Tensor, Tensor | bool]:
        """Times as numbers in units of the step, and whether each pair of them can be so many units apart."""
        if self.kind == "duration":
            return times, True
        if self.kind == "months":
            return _months(times), True
        days = times.div(DAY, rounding_mode="floor")
        weeks, weekday = (days + 3).div(7, rounding_mode="floor"), (days + 3).remainder(7)  # 1970 began on a Thursday
        same_clock = times.remainder(DAY).diff() == 0
        working = weekday < 5
        return weeks * 5 + weekday, same_clock & working[1:] & working[:-1]

    def later(self, times: Tensor, count: Tensor) -> Tensor:
        """The times that are ``count`` steps after these."""
        if self.kind == "duration":
            return times + count * self.size
        if self.kind == "months":
            return _months_later(times, count * self.size)
        days = times.div(DAY, rounding_mode="floor").numpy()
        found = numpy.busday_offset(days.astype("datetime64[D]"), count.numpy(), roll="backward")
        return torch.from_numpy(found.astype("int64")) * DAY + times.remainder(DAY)

    def __str__(self) -> str:
        if self.kind == "weekdays":
            return "1 weekday"
        if self.kind == "months":
            return counted(self.size // 12, "year") if self.size % 12 == 0 else counted(self.size, "month")
        return duration(self.size)


def counted(count: int, unit: str) -> str:
    return f"{count:,} {unit}{'s' * (count != 1)}"


def duration(time: int, *, dates: bool = True) -> str:
    """A duration in its largest unit that is whole; a plain number where times are no dates."""
    if not dates:
        return f"{time / UNITS:.10g}"
    for unit, size in DURATIONS:
        if time % size == 0:
            return counted(time // size, unit)
    return f"{time / SECOND:.10g} seconds"


def _months(times: Tensor) -> Tensor:
    found = times.contiguous().numpy().astype("datetime64[us]").astype("datetime64[M]").astype("int64")
    return torch.from_numpy(found)


def _months_later(times: Tensor, months: Tensor) -> Tensor:
    """The same day some months later, or the last day of a shorter month. A month's last day stays a last day."""
    whole = times.contiguous().numpy().astype("datetime64[us]")
    day = whole.astype("datetime64[D]")
    month = day.astype("datetime64[M]")
    target = month + months.numpy().astype("timedelta64[M]")
    last = (target + 1).astype(day.dtype) - 1
    same = numpy.minimum(target.astype(day.dtype) + (day - month.astype(day.dtype)), last)
    is_last = (day + 1).astype(month.dtype) != month
    found = numpy.where(is_last, last, same) + (whole - day)
    return torch.from_numpy(found.astype("int64"))


def find_step(series: Iterable[Tensor], *, dates: bool) -> Step | None:
    """The step that most neighbouring times of some series are apart; None where no two times differ.

    dates: whether times are dates, which have months and weekdays
    """
    held = list(series)
    apart = torch.cat([times.diff() for times in held])
    apart = apart[apart > 0]
    if not len(apart):
        return None
    size, often = _commonest(apart)
    if dates and size >= 28 * DAY:
        months, as_often = _commonest(torch.cat([_months(times).diff() for times in held]))
        if months > 0 and as_often >= often:
            return Step("months", months)
    if dates and size == DAY:
        weekdays = Step("weekdays")
        if sum(int((weekdays.between(times) == 1).sum()) for times in held) > often:
            return weekdays
    return Step("duration", size)


def _commonest(values: Tensor) -> tuple[int, int]:
    """The commonest number, the smallest of equals, and how often it comes."""
    found, counts = values.unique(return_counts=True)
    place = int(counts.argmax())
    return int(found[place]), int(counts[place])


def regular_share(times: list[int]) -> float:
    """The share of the differences between neighbouring times that are one step."""
    held = torch.tensor(times, dtype=torch.long)
    step = find_step([held], dates=True)
    return 0.0 if step is None else float((step.between(held) == 1).double().mean())
