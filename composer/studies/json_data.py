"""What was found as plain data for JSON, which has neither NaN nor infinity."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from composer.studies.statistics.over_seeds import Estimate


def plain(value: Any, digits: int | None = None) -> Any:
    """A value as plain data: dataclasses are mappings of their fields, and None is what is not a finite number.

    digits: the significant digits of numbers, so that a page is small; None for all of them
    """
    if isinstance(value, Estimate) and not math.isfinite(value.mean):
        return None
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(each, digits) for name, each in value.items()}
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Iterable):
        return [plain(each, digits) for each in value]
    number = finite(value)
    return str(value) if number is None and not isinstance(value, float) else rounded(number, digits)


def finite(value: Any) -> float | int | None:
    """The value if it is a finite number, else None."""
    return value if type(value) in (float, int) and math.isfinite(value) else None


def rounded(value: Any, digits: int | None = 5) -> float | int | None:
    """A number with this many significant digits; None for what is not a finite number."""
    number = finite(value)
    if number is None or digits is None:
        return number
    short = float(f"{number:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 2**53 else short
