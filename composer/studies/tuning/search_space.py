"""The values that tuning and searches try.

A range is written in Hydra's own sweep syntax: ``tag(log,interval(1e-4,1e-2))``, ``interval(0,0.3)``,
``choice(mlp,glu)``, ``range(1,5)`` or ``1,2,4``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, RangeSweep, Transformer
from hydra.errors import HydraException

from composer.core.problems import Report

#: The values of one trial, by the key of the override.
Point = dict[str, Any]


@dataclass(frozen=True)
class Interval:
    """Numbers from ``low`` to ``high``, both included; whole numbers if both bounds are."""

    low: float
    high: float
    log: bool

    @property
    def whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def spread(self, count: int) -> list[float | int]:
        """At most ``count`` different numbers, evenly spaced (their logarithms, if ``log``), both ends included."""
        shares = [place / (count - 1) for place in range(1, count - 1)]
        if self.log:
            inner = [self.low * (self.high / self.low) ** share for share in shares]
        else:
            inner = [self.low + share * (self.high - self.low) for share in shares]
        short = (round(number) if self.whole else rounded(number) for number in inner)
        return sorted({self.low, self.high, *(number for number in short if self.low < number < self.high)})


@dataclass(frozen=True)
class Choice:
    values: tuple[Any, ...]


Space = dict[str, Interval | Choice]


def parse_space(texts: Mapping[str, str], path: str, report: Report) -> Space:
    """The ranges of a section ``space``; problems are added to the report."""
    space: Space = {}
    for key, text in texts.items():
        try:
            found = _parse(key, text)
        except HydraException:
            found = "is not in Hydra's sweep syntax. Write e.g. tag(log,interval(1e-4,1e-2)) or choice(1,2,4)."
        if isinstance(found, str):
            report.add(f"{path}.{key}", f"'{text}' {found}")
        else:
            space[key] = found
    return space


def _parse(key: str, text: str) -> Interval | Choice | str:
    """A range, or what is wrong with its text."""
    if re.match(r"[+~]*(plugins|hydra|allow_paths|resume)\b", key):
        return "would choose code to run, or paths anywhere, which only the command line can."
    (override,) = OverridesParser.create().parse_overrides([f"{key}={text}"])
    sweep: Any = override.value()
    if isinstance(sweep, IntervalSweep):
        low, high, log = sweep.start, sweep.end, "log" in sweep.tags
        assert low is not None
        assert high is not None
        if low >= high:
            return "is empty: its lower bound has to be below its upper bound."
        if log and low <= 0:
            return "is logarithmic, so its lower bound has to be above 0."
        return Interval(low, high, log)
    if isinstance(sweep, ChoiceSweep | RangeSweep):
        values = tuple(dict.fromkeys(override.sweep_iterator(transformer=Transformer.encode)))
        return Choice(values) if values else "is empty."
    return "is one value, so there is nothing to tune. Write e.g. tag(log,interval(1e-4,1e-2)) or choice(1,2,4)."


def rounded(number: float) -> float:
    """The number to four digits, so that it can be read and typed."""
    return float(f"{number:.4g}")


def written(point: Mapping[str, Any]) -> tuple[str, ...]:
    """The point as overrides."""
    return tuple(f"{key}={value if isinstance(value, str) else Transformer.str(value)}" for key, value in point.items())
