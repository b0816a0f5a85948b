"""Statistics over seeds: 95 % intervals, paired tests, Holm's correction, the number of seeds that a difference needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, with its 95 % confidence interval from Student's t distribution.

    values: the samples; empty for a difference of two arms that share no seeds
    half: half of the interval's width, the number after the ±; None if there are too few samples for an interval
    """

    values: tuple[float, ...]
    mean: float
    half: float | None
