"""The stretches of a series without a gap, and the filling of gaps.

A gap is a time at which a step is due and no row has it, or a row that lacks the value of a channel. Windows lie within
stretches, so that they never cross a gap. Filled steps hold the last value that was measured before them or, with
``linear``, the values between that and the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy
import torch
from torch import Tensor

from composer.data.series.series_rows import SeriesRows
from composer.data.series.steps import Step, counted, duration
from composer.data.series.times import TimeForm

Fill = Literal["linear", "previous", "mask"]


@dataclass(frozen=True, eq=False)
class Stretches:
    """The steps of a file.

    times: (n,)
    values: (n, D); where steps were filled, with the last value that was measured
    starts, ends: (k,) each, the first step of every stretch and the step after its last one
    measured: (n, D), False where a value was filled; None where none was
    between: (n, D), the values with linear interpolation; None where nothing was interpolated
    """

    file: Path
    times: Tensor
    values: Tensor
    starts: Tensor
    ends: Tensor
    measured: Tensor | None = None
    between: Tensor | None = None


def stretches_of(rows: SeriesRows, step: Step | None, fill: Fill | None, length: int) -> Stretches:
    """The stretches of a file's rows, with gaps filled that are shorter than ``length`` steps."""
    hops = _hops(rows, step)
    lacking = rows.values.isnan().any(1)
    if fill is None or (bool((hops == 1).all()) and not bool(lacking.any())):
        starts, ends = _runs(~lacking, hops == 1)
        return Stretches(rows.file, rows.times, rows.values, starts, ends)
    assert step is not None or not len(hops), "rows that follow each other have a step"
    times, values, linked = _on_grid(rows, hops, step, length)
    starts, ends = _runs(_kept(values.isnan().any(1), linked, length), linked)
    measured = ~values.isnan()
    between = _interpolated(values, measured, starts, ends) if fill == "linear" else None
    return Stretches(rows.file, times, _held(values, measured), starts, ends, measured, between)


def _hops(rows: SeriesRows, step: Step | None) -> Tensor:
    """(n - 1,), the number of steps from each row to the next; 0 where it is no whole number."""
    return step.between(rows.times) if step is not None else rows.times.diff()


def _runs(kept: Tensor, linked: Tensor) -> tuple[Tensor, Tensor]:
    """The first places of the runs of kept steps of which each follows the one before, and the places after them."""
    if not len(kept):
        return torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long)
    follows = kept[1:] & kept[:-1] & linked
    outside = torch.zeros(1, dtype=torch.bool)
    starts = (kept & ~torch.cat([outside, follows])).nonzero()[:, 0]
    ends = (kept & ~torch.cat([follows, outside])).nonzero()[:, 0] + 1
    return starts, ends


def _on_grid(rows: SeriesRows, hops: Tensor, step: Step | None, length: int) -> tuple[Tensor, Tensor, Tensor]:
    """Times and values with a step for each time in a short gap, NaN so far, and whether each follows another."""
    inside = (hops >= 1) & (hops <= length)
    places = torch.cat([torch.zeros(1, dtype=torch.long), torch.where(inside, hops, 1).cumsum(0)])
    count = int(places[-1]) + 1
    values = torch.full((count, rows.values.shape[1]), torch.nan)
    values[places] = rows.values
    before = torch.searchsorted(places, torch.arange(count), right=True) - 1  # the row at or before each step
    times, away = rows.times[before], torch.arange(count) - places[before]
    if step is not None and bool((away > 0).any()):
        times = torch.where(away > 0, step.later(times, away), times)
    linked = torch.ones(count - 1, dtype=torch.bool)
    linked[places[1:][~inside] - 1] = False
    return times, values, linked


def _kept(lacking: Tensor, linked: Tensor, length: int) -> Tensor:
    """Whether each step is used. Steps that lack a value are not, before the first whole step of a stretch and in runs
    of at least ``length``."""
    new = torch.cat([torch.ones(1, dtype=torch.bool), (lacking[1:] != lacking[:-1]) | ~linked])
    first = torch.cat([torch.ones(1, dtype=torch.bool), ~linked])  # of a stretch
    run = new.cumsum(0) - 1
    long = run.bincount() >= length
    return ~(lacking & (long | first[new])[run])


def _held(values: Tensor, measured: Tensor) -> Tensor:
    """The last measured value at each step. Every stretch begins with a whole step, so none reaches into another."""
    found, index = values.clone(), torch.arange(len(values))
    for channel in range(values.shape[1]):
        last = torch.where(measured[:, channel], index, 0).cummax(0).values
        found[:, channel] = values[last, channel]
    return found


def _interpolated(values: Tensor, measured: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    """The values between the last and the next measured one; the last one where a stretch has no next."""
    found, known = values.clone(), measured.numpy()
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        steps = numpy.arange(start, end)
        for channel in range(values.shape[1]):
            here = steps[known[start:end, channel]]
            between = numpy.interp(steps, here, values[here, channel].numpy())
            found[start:end, channel] = torch.from_numpy(between)
    return found


class Gap(NamedTuple):
    """row: the row after it
    apart: the time from the row before it to that row
    hops: the steps between them; 0 where that is no whole number
    """

    rows: SeriesRows
    row: int
    apart: int
    hops: int

    @property
    def place(self) -> str:
        return self.rows.place(self.row)


def _gaps(rows: SeriesRows, step: Step | None) -> list[Gap]:
    hops = _hops(rows, step)
    places = (hops != 1).nonzero()[:, 0]
    found = zip((places + 1).tolist(), rows.times.diff()[places].tolist(), hops[places].tolist(), strict=True)
    return [Gap(rows, *gap) for gap in found]


def gaps_in_words(
    files: Sequence[SeriesRows], channels: Sequence[str], step: Step | None, form: TimeForm | None,
    fill: Fill | None, length: int,
) -> str | None:  # fmt: skip
    """How many gaps there are, the first, the largest, and what is done about them; None without any."""
    said = []
    if gaps := [gap for rows in files for gap in _gaps(rows, step)]:
        said.append(_places(gaps, step, form))
    missing = [rows.values.isnan() for rows in files]
    if lacking := sum(int(holes.any(1).sum()) for holes in missing):
        counts = zip(channels, torch.cat(missing).sum(0).tolist(), strict=True)
        by_channel = ", ".join(f"{name} {count:,}" for name, count in counts if count)
        said.append(f"{counted(lacking, 'row')} without a value ({by_channel})")
    if not said:
        return None
    done = "windows never cross them; data.fill=linear, previous or mask fills them"
    if fill is not None:
        done = f"filled (data.fill={fill}) where they are shorter than {length} steps, else never crossed"
    return f"{' and '.join(said)}: {done}."


def _places(gaps: Sequence[Gap], step: Step | None, form: TimeForm | None) -> str:
    first, widest = gaps[0], max(gaps, key=lambda gap: gap.apart)
    if form is None:
        return f"{counted(len(gaps), 'gap')} where rows were left out (the first before {first.place})"
    places = f"the first before {first.place}, {duration(first.apart, dates=form.dates)}"
    if widest is not first:
        places += f"; the largest before {widest.place}, {duration(widest.apart, dates=form.dates)}"
    if uneven := sum(gap.hops == 0 for gap in gaps):
        places += f"; {uneven:,} of them no whole number of steps"
    return f"{counted(len(gaps), 'gap')} between steps of {step_in_words(step, form)} ({places})"


def step_in_words(step: Step | None, form: TimeForm) -> str:
    if step is None:
        return "unknown length"
    return str(step) if form.dates else duration(step.size, dates=False)
