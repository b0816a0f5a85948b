"""The steps of every split: a share of the steps, taken from the end, or a range of dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from composer.core.problems import Invalid
from composer.data.file_keys import Share
from composer.data.series.date_ranges import DateRange
from composer.data.series.gaps import Stretches
from composer.data.series.times import TimeForm
from composer.data.source import SPLITS, Split


class Pieces(NamedTuple):
    """The pieces of a split without a gap: their first steps, and the steps after their last ones, (k,) each."""

    starts: Tensor
    ends: Tensor


def divide(
    times: Tensor, shares: Mapping[Split, Share], ranges: Mapping[Split, DateRange], *, dates: bool
) -> Tensor:  # fmt: skip
    """(n,), the number of the split in SPLITS, for every step of a file that is trained on.

    What no range takes is divided by the shares, the test split last.

    dates: whether times are dates, not numbers
    """
    numbers = torch.zeros(len(times), dtype=torch.uint8)
    for split, chosen in ranges.items():
        start, end = chosen.rows(times, dates=dates)
        if taken := next((other for other in ranges if SPLITS.index(other) in numbers[start:end]), None):
            theirs = ranges[taken]
            raise Invalid(chosen.key, f"'{chosen.text}' and data.{theirs.key}={theirs.text} overlap. Part them.")
        numbers[start:end] = SPLITS.index(split)
    for split in ("test", "valid"):
        share = shares[split]
        if share and not isinstance(share, str):
            free = (numbers == SPLITS.index("train")).nonzero()[:, 0]
            numbers[free[-max(1, round(share * len(times))) :]] = SPLITS.index(split)
    return numbers


def divide_all(
    files: Sequence[Tensor], shares: Mapping[Split, Share], ranges: Mapping[Split, DateRange], form: TimeForm | None
) -> list[Tensor]:  # fmt: skip
    """The numbers of the splits, for the times of all files that are trained on. A range that takes nothing, or
    everything, is an error."""
    dates = form is not None and form.dates
    found = [divide(times, shares, ranges, dates=dates) for times in files]
    splits = {SPLITS[number] for numbers in found for number in numbers.unique().tolist()}
    for split, chosen in ranges.items():
        assert form is not None, "a range needs times"
        if split not in splits or "train" not in splits:
            what = "leaves no row to train on" if split in splits else "holds no row"
            raise Invalid(chosen.key, f"'{chosen.text}' {what}: {_extent(files, form)}.")
    return found


def _extent(files: Sequence[Tensor], form: TimeForm) -> str:
    ends = [int(time) for times in files if len(times) for time in (times[0], times[-1])]
    return f"the times go from {form.show(min(ends))} to {form.show(max(ends))}" if ends else "the files have no row"


def pieces_of(numbers: Tensor, steps: Stretches, length: int) -> dict[Split, Pieces]:
    """The pieces of every split, for the numbers of the splits of all steps.

    The pieces of a held-out split include the ``length`` steps before them, which are inputs only.
    """
    changes = (numbers.diff() != 0).nonzero()[:, 0] + 1
    edges = torch.cat([steps.starts, steps.ends, changes]).unique()
    firsts, ends = edges[:-1], edges[1:]
    stretch = torch.searchsorted(steps.starts, firsts, right=True) - 1
    inside = (stretch >= 0) & (firsts < steps.ends[stretch])
    firsts, ends, begins = firsts[inside], ends[inside], steps.starts[stretch[inside]]
    reach = torch.maximum(firsts - length, begins)
    found: dict[Split, Pieces] = {}
    for number, split in enumerate(SPLITS):
        own = numbers[firsts] == number
        found[split] = Pieces((firsts if split == "train" else reach)[own], ends[own])
    return found
