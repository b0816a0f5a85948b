"""The values that the tuning of a study tries.

A range is written in Hydra's own sweep syntax: ``tag(log,interval(1e-4,1e-2))``, ``interval(0,0.3)``,
``choice(mlp,glu)``, ``range(1,5)`` or ``1,2,4``. The points are those of the Halton sequence, which fill the space
evenly from the first point on, so that a larger number of trials adds points and keeps the others. They are not random:
every arm of a study is tried at the same points, and a study that is started again tries the same ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, RangeSweep, Transformer
from hydra.errors import HydraException

from composer.core.problems import Problem, Report

#: The bases of the Halton sequence, one for each key of a space.
BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)

#: Points of the sequence that are tried for a new one. They run out where the space has fewer points than asked for.
ATTEMPTS = 10_000

#: The values of one trial, by the key of the override.
Point = dict[str, Any]


@dataclass(frozen=True)
class Interval:
    """Numbers from ``low`` to ``high``, both included; whole numbers if both bounds are."""

    low: float
    high: float
    log: bool

    def at(self, share: float) -> float | int:
        """The number at a share of the interval, rounded so that it can be read and typed."""
        if isinstance(self.low, int) and isinstance(self.high, int):
            low, high = (math.log(self.low), math.log(self.high + 1)) if self.log else (self.low, self.high + 1)
            number = low + share * (high - low)
            return min(int(math.exp(number) if self.log else number), self.high)
        if self.log:
            number = math.exp(math.log(self.low) + share * (math.log(self.high) - math.log(self.low)))
        else:
            number = self.low + share * (self.high - self.low)
        return float(f"{number:.4g}")


@dataclass(frozen=True)
class Choice:
    values: tuple[Any, ...]

    def at(self, share: float) -> Any:
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]


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


def points(space: Space, count: int, path: str) -> list[Point] | Problem:
    """The first ``count`` different points of the space, or the problem that it has fewer."""
    if len(space) > len(BASES):
        return Problem(path, f"the space has {len(space)} keys, but at most {len(BASES)} can be tuned together.")
    found: list[Point] = []
    for number in range(1, ATTEMPTS):
        point = {
            key: values.at(halton(number, base)) for (key, values), base in zip(space.items(), BASES, strict=False)
        }
        if point not in found:
            found.append(point)
        if len(found) == count:
            return found
    return Problem(path, f"there are {len(found)} different points in this space, which is too few for {count} trials.")


def halton(number: int, base: int) -> float:
    """The radical inverse: the digits of a number in a base, mirrored at the point. halton(6, 2) = 0.011 (base 2)."""
    share, digit = 0.0, 1.0
    while number:
        digit /= base
        number, rest = divmod(number, base)
        share += digit * rest
    return share


def written(point: Mapping[str, Any]) -> tuple[str, ...]:
    """The point as overrides."""
    return tuple(f"{key}={_text(value)}" for key, value in point.items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else Transformer.str(value)
