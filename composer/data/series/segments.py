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
from composer.data.source import SPLITS, Split


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
    numbers = torch.zeros(len(times), dtype=torch.uint8)  # for every step, the index of its split in SPLITS
    for split, chosen in ranges.items():
        start, end = chosen.rows(times, dates=dates)
        if taken := next((other for other in ranges if SPLITS.index(other) in numbers[start:end]), None):
            theirs = ranges[taken]
            raise Invalid(chosen.key, f"'{chosen.text}' and data.{theirs.key}={theirs.text} overlap. Part them.")
        numbers[start:end] = SPLITS.index(split)
    for split in ("test", "valid"):
        if shares.get(split):
            free = (numbers == SPLITS.index("train")).nonzero()[:, 0]
            numbers[free[-max(1, round(shares[split] * len(times))) :]] = SPLITS.index(split)
    found, counts = numbers.unique_consecutive(return_counts=True)
    ends = counts.cumsum(0)
    runs = zip(found.tolist(), (ends - counts).tolist(), ends.tolist(), strict=True)
    return [Part(SPLITS[number], start, end) for number, start, end in runs]


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
    first, ends = steps.starts.clamp(min=part.start), steps.ends.clamp(max=part.end)
    starts = first if part.split == "train" else torch.maximum(first - length, steps.starts)
    kept = first < ends
    return starts[kept], ends[kept]
