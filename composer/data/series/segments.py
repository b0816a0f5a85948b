"""The steps of every split: a share of the steps, taken from the end, or a range of dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from composer.core.problems import Invalid
from composer.data.series.date_ranges import DateRange
from composer.data.series.gaps import Stretches
from composer.data.series.times import TimeForm
from composer.data.source import Split


class Part(NamedTuple):
    """The steps of a file from ``start`` to before ``end``, which belong to one split."""

    split: Split
    start: int
    end: int


def divide(
    times: Tensor, shares: Mapping[Split, float], ranges: Mapping[Split, DateRange], *, dates: bool
) -> list[Part]:  # fmt: skip
    """The parts of a file that is trained on. What no range takes is divided by the shares, the test split last.

    dates: whether times are dates, not numbers
    """
    free = [(0, len(times))]
    found: list[Part] = []
    for split, chosen in ranges.items():
        start, end = chosen.rows(times, dates=dates)
        other = next((part for part in found if start < part.end and part.start < end), None)
        if other is not None:
            theirs = ranges[other.split]
            raise Invalid(chosen.key, f"'{chosen.text}' and data.{theirs.key}={theirs.text} overlap. Part them.")
        found.append(Part(split, start, end))
        free = [piece for low, high in free for piece in ((low, min(high, start)), (max(low, end), high))]
        free = [(low, high) for low, high in free if low < high]
    for split in ("test", "valid"):
        left = max(1, round(shares[split] * len(times))) if shares.get(split) else 0
        while left and free:
            low, high = free.pop()
            start = max(low, high - left)
            found.append(Part(split, start, high))
            left -= high - start
            if low < start:
                free.append((low, start))
    return [*(Part("train", low, high) for low, high in free), *(part for part in found if part.start < part.end)]


def divide_all(
    files: Sequence[Stretches], shares: Mapping[Split, float], ranges: Mapping[Split, DateRange], form: TimeForm | None
) -> list[tuple[Stretches, list[Part]]]:  # fmt: skip
    """The files that are trained on with their parts. A range that takes nothing, or everything, is an error."""
    dates = form is not None and form.dates
    found = [(steps, divide(steps.times, shares, ranges, dates=dates)) for steps in files]
    splits = {part.split for _, parts in found for part in parts}
    for split, chosen in ranges.items():
        assert form is not None, "a range needs times"
        if split not in splits or "train" not in splits:
            what = "leaves no row to train on" if split in splits else "holds no row"
            raise Invalid(chosen.key, f"'{chosen.text}' {what}: {_extent(files, form)}.")
    return found


def _extent(files: Sequence[Stretches], form: TimeForm) -> str:
    times = [int(time) for steps in files if len(steps.times) for time in (steps.times[0], steps.times[-1])]
    return f"the times go from {form.show(min(times))} to {form.show(max(times))}" if times else "the files have no row"


def within(part: Part, steps: Stretches, length: int) -> tuple[Tensor, Tensor]:
    """The first and last places of the pieces of a part without a gap.

    The pieces of a held-out split include the ``length`` steps before them, which are inputs only.
    """
    starts, ends = steps.starts.clamp(min=part.start), steps.ends.clamp(max=part.end)
    if part.split != "train":
        starts, first = torch.maximum(starts - length, steps.starts), starts
    else:
        first = starts
    kept = first < ends
    return starts[kept], ends[kept]
