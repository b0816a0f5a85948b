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

HOUR = 3600 * SECOND


def channel_names(features: Sequence[Feature]) -> list[str]:
    return [f"{feature}_{wave}" for feature in features for wave in ("sin", "cos")]


def calendar(times: Tensor, features: Sequence[Feature]) -> Tensor:
    """(..., 2 features), the sine and cosine of each feature, for times (...) in microseconds since 1970."""
    angles = [2 * math.pi * _share(times, feature) for feature in features]
    waves = [wave for angle in angles for wave in (angle.sin(), angle.cos())]
    return torch.stack(waves, dim=-1).float() if waves else times.new_zeros((*times.shape, 0), dtype=torch.float32)


def _share(times: Tensor, feature: Feature) -> Tensor:
    """The part of the cycle that is over, in [0, 1)."""
    match feature:
        case "minute":
            return times.remainder(HOUR).double() / HOUR
        case "hour":
            return times.remainder(DAY).double() / DAY
        case "weekday":
            return (times.div(DAY, rounding_mode="floor") + 3).remainder(7).double() / 7  # 1970 began on a Thursday
    dates = times.contiguous().numpy().astype("datetime64[us]")
    days, months, years = (dates.astype(f"datetime64[{unit}]") for unit in "DMY")
    match feature:
        case "month":
            return torch.from_numpy((months - years.astype("datetime64[M]")).astype("float64")) / 12
        case "day":
            return torch.from_numpy((days - months.astype("datetime64[D]")).astype("float64")) / 31
        case "day_of_year":
            passed = (days - years.astype("datetime64[D]")).astype("float64")
            year = (years + numpy.timedelta64(1, "Y")).astype("datetime64[D]") - years.astype("datetime64[D]")
            return torch.from_numpy(passed / year.astype("float64"))
