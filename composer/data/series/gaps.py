"""The stretches of a series without a gap, and the filling of gaps.

A gap is a time at which a step is due and no row has it, or a row that lacks the value of a channel. Windows lie within
stretches, so that they never cross a gap. Filled steps hold the last value that was measured before them or, with
``linear``, the values between that and the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy
import torch
from torch import Tensor

from composer.data.series.series_rows import SeriesRows
from composer.data.series.steps import Step, counted, duration
from composer.data.series.times import TimeForm

Fill = Literal["linear", "previous", "mask"]


#: In the place of a number of steps, between the last row of a file and the first row of the next.
NEXT_FILE = -1


@dataclass(frozen=True, eq=False)
class Stretches:
    """The steps of files, one file after the other.

    ends_of_files: (files,), the step after the last one of every file
    times: (n,)
    values: (n, D); where steps were filled, with the last value that was measured
    starts, ends: (k,) each, the first step of every stretch and the step after its last one
    measured: (n, D), False where a value was filled; None where none can be
    between: (n, D), the values with linear interpolation; None where nothing is interpolated
    """

    ends_of_files: Tensor
    times: Tensor
    values: Tensor
    starts: Tensor
    ends: Tensor
    measured: Tensor | None = None
    between: Tensor | None = None


def hops_of(rows: SeriesRows, step: Step | None) -> Tensor:
    """(n - 1,), the number of steps from each row to the next; 0 where it is no whole number."""
    hops = step.between(rows.times) if step is not None else rows.times.diff()
    inside = (rows.ends > 0) & (rows.ends < len(rows.times))
    hops[rows.ends[inside] - 1] = NEXT_FILE
    return hops


def stretches_of(rows: SeriesRows, hops: Tensor, step: Step | None, fill: Fill | None, length: int) -> Stretches:
    """The stretches of rows, with gaps filled that are shorter than ``length`` steps."""
    if fill is None or not len(rows.times):
        starts, ends = _runs(~rows.values.isnan().any(1), hops == 1)
        return Stretches(rows.ends, rows.times, rows.values, starts, ends)
    times, values, linked, ends_of_files = _on_grid(rows, hops, step, length)
    starts, ends = _runs(_kept(values.isnan().any(1), linked, length), linked)
    measured = ~values.isnan()
    between = _interpolated(values, measured, starts, ends) if fill == "linear" else None
    return Stretches(ends_of_files, times, _held(values, measured), starts, ends, measured, between)


def _runs(kept: Tensor, linked: Tensor) -> tuple[Tensor, Tensor]:
    """The first places of the runs of kept steps of which each follows the one before, and the places after them."""
    if not len(kept):
        return torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long)
    follows = kept[1:] & kept[:-1] & linked
    outside = torch.zeros(1, dtype=torch.bool)
    starts = (kept & ~torch.cat([outside, follows])).nonzero()[:, 0]
    ends = (kept & ~torch.cat([follows, outside])).nonzero()[:, 0] + 1
    return starts, ends


def _on_grid(
    rows: SeriesRows, hops: Tensor, step: Step | None, length: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Times and values with a step for each time in a short gap, NaN so far, whether each follows another, and the
    ends of the files."""
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
    return times, values, linked, torch.cat([places, torch.tensor([count])])[rows.ends]


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


def gaps_in_words(
    rows: SeriesRows, hops: Tensor, channels: Sequence[str], step: Step | None, form: TimeForm | None,
    fill: Fill | None, length: int,
) -> str | None:  # fmt: skip
    """How many gaps there are, the first, the largest, and what is done about them; None without any."""
    said = []
    before = ((hops != 1) & (hops != NEXT_FILE)).nonzero()[:, 0]  # the rows before the gaps
    if len(before):
        said.append(_places(rows, before, int((hops == 0).sum()), step, form))
    holes = rows.values.isnan()
    if lacking := int(holes.any(1).sum()):
        counts = zip(channels, holes.sum(0).tolist(), strict=True)
        by_channel = ", ".join(f"{name} {count:,}" for name, count in counts if count)
        said.append(f"{counted(lacking, 'row')} without a value ({by_channel})")
    if not said:
        return None
    done = "windows never cross them; data.fill=linear, previous or mask fills them"
    if fill is not None:
        done = f"filled (data.fill={fill}) where they are shorter than {length} steps, else never crossed"
    return f"{' and '.join(said)}: {done}."


def _places(rows: SeriesRows, before: Tensor, uneven: int, step: Step | None, form: TimeForm | None) -> str:
    gaps = counted(len(before), "gap")
    if form is None:
        return f"{gaps} where rows were left out (the first before {rows.place(int(before[0]) + 1)})"
    apart = rows.times.diff()[before]
    first, widest = (
        f"{rows.place(int(before[gap]) + 1)}, {duration(int(apart[gap]), dates=form.dates)}"
        for gap in (0, int(apart.argmax()))
    )
    places = f"the first before {first}"
    if widest != first:
        places += f"; the largest before {widest}"
    if uneven:
        places += f"; {uneven:,} of them no whole number of steps"
    return f"{gaps} between steps of {step_in_words(step, form)} ({places})"


def step_in_words(step: Step | None, form: TimeForm) -> str:
    if step is None:
        return "unknown length"
    return str(step) if form.dates else duration(step.size, dates=False)
