"""Numbers as plain data for JSON, which has neither NaN nor infinity."""

from __future__ import annotations

import math
from typing import Any

from composer.studies.statistics.over_seeds import Estimate


def finite(value: Any) -> float | int | None:
    """The value if it is a finite number, else None."""
    return value if type(value) in (float, int) and math.isfinite(value) else None


def rounded(value: Any, digits: int = 5) -> float | int | None:
    """A number with this many significant digits; None for what is not a finite number."""
    if finite(value) is None:
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short


def estimate_data(found: Estimate | None) -> dict[str, Any] | None:
    """A mean with its interval and its values, or None if the mean is not a finite number."""
    if found is None or rounded(found.mean) is None:
        return None
    values = [rounded(value, 7) for value in found.values]
    return {"mean": rounded(found.mean, 7), "half": rounded(found.half, 4), "values": values}
