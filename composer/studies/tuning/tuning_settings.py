"""The config's section ``study.tuning``, which every tuning run records, too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

from composer.core.binding import bind_value
from composer.core.block import Positive, Range
from composer.core.problems import Report, UserError, listed
from composer.studies.tuning.search_space import Point, Space, parse_space
from composer.studies.tuning.tuning_rule import fewest, first_values

#: What is tuned unless a study says otherwise: the learning rate, from where it begins to matter to where it diverges.
SPACE = {"optimiser.learning_rate": "tag(log,interval(3e-4,3e-2))"}


@dataclass(frozen=True)
class Tuning:
    """The tuning that every arm gets, on the validation split. tuning_rule.py has the rule.

    trials: the most points of the space at which an arm is tried
    space: overrides and the ranges at which their search begins; see search_space.py
    steps: of a tuning run: a share of the final run's (below 1), or a whole number of steps; None for the same
    seeds: of the tuning runs; every point is tried with each
    """

    trials: Positive = 9
    space: dict[str, str] = field(default_factory=lambda: dict(SPACE))
    steps: Annotated[float, Range(above=0, below=1)] | Positive | None = None
    seeds: list[int] = field(default_factory=lambda: [0])

    @classmethod
    def recorded(cls, section: Mapping[str, Any] | None) -> Tuning | None:
        """The tuning that a run was part of, as its run.json has it; None for the trials of a search."""
        report = Report()
        found = bind_value("tuning", section, Tuning, "tuning", report)
        return found if isinstance(found, Tuning) and found.seeds and not report.problems else None

    @cached_property
    def ranges(self) -> Space:
        report = Report()
        found = parse_space(self.space, "study.tuning.space", report)
        if report.problems:  # the study was checked, but its sweep.json may have been edited
            raise UserError(f"the study's space cannot be read: {report.problems[0].message}")
        return found

    def check(self, report: Report) -> Point:
        """Report what is wrong. Returns a point in the middle of the space."""
        path = "study.tuning"
        space = parse_space(self.space, f"{path}.space", report)
        if not self.space:
            report.add(f"{path}.space", f"says what to tune, as {{{', '.join(map(': '.join, SPACE.items()))}}}.")
        if not self.seeds:
            report.add(f"{path}.seeds", "expected different whole numbers, at least one, found [].")
        if len(space) == len(self.space) and self.trials < fewest(space):
            report.add(
                f"{path}.trials",
                f"{self.trials} points are too few for {listed(space)}: at least {fewest(space)} are tried, the ends "
                "of every range and the neighbours of the best among them. Allow more, or narrow the space.",
            )
        return {key: first[len(first) // 2] for key, values in space.items() if (first := first_values(values))}
