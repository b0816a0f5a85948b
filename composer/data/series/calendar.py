"""Calendar features: the place of a time in a cycle, such as the hour in the day, as the sine and cosine of an angle.

So the last hour of a day is as near to the first as any two neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy
import torch
from torch import Tensor

from composer.data.series.times import DAY, SECOND

Feature = Literal["minute", "hour", "weekday", "day", "day_of_year", "month"]

#: The unit in which a feature counts, the cycle, and the number of units in a cycle; None: as many as the cycle has.
CYCLES: dict[Feature, tuple[str, str, int | None]] = {
    "minute": ("us", "h", 3600 * SECOND),
    "hour": ("us", "D", DAY),
    "day": ("D", "M", 31),
    "day_of_year": ("D", "Y", None),
    "month": ("M", "Y", 12),
}


def channel_names(features: Sequence[Feature]) -> list[str]:
    return [f"{feature}_{wave}" for feature in features for wave in ("sin", "cos")]


def calendar(times: Tensor, features: Sequence[Feature]) -> Tensor:
    """(..., 2 features), the sine and cosine of each feature, for times (...) in microseconds since 1970."""
    angles = [2 * math.pi * _share(times, feature) for feature in features]
    waves = [wave for angle in angles for wave in (angle.sin(), angle.cos())]
    return torch.stack(waves, dim=-1).float() if waves else times.new_zeros((*times.shape, 0), dtype=torch.float32)


def _share(times: Tensor, feature: Feature) -> Tensor:
    """The part of the cycle that is over, in [0, 1)."""
    if feature == "weekday":
        return (times.div(DAY, rounding_mode="floor") + 3).remainder(7).double() / 7  # 1970 began on a Thursday
    unit, cycle, count = CYCLES[feature]
    now = times.contiguous().numpy().astype("datetime64[us]").astype(f"datetime64[{unit}]")
    begin = now.astype(f"datetime64[{cycle}]")
    length = numpy.float64(count) if count else ((begin + 1).astype(now.dtype) - begin).astype("float64")
    return torch.from_numpy((now - begin).astype("float64") / length)
