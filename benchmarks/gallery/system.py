"""What a system of the gallery is: its arms, the figures that they quote, and what these have to reach."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """A figure that an arm has to reach.

    over: other arms, each by its system and its name; ``least`` is then the distance from the best of them
    """

    metric: str
    most: float | None = None
    least: float | None = None
    over: tuple[tuple[str, str], ...] = ()

    def reached(self, value: float, others: Sequence[float] = ()) -> bool:
        """Whether a value reaches the goal. ``others`` are the values of the arms in ``over``."""
        above = max(others, default=0.0)
        return (self.most is None or value <= self.most) and (self.least is None or value >= above + self.least)

    def __str__(self) -> str:
        if self.most is not None:
            return f"{self.metric} at most {self.most:g}"
        if not self.over:
            return f"{self.metric} at least {self.least:g}"
        named = " and ".join(f"{system} ({arm})" for system, arm in self.over)
        return f"{self.metric} {f'{self.least:g} ' if self.least else ''}above {named}"


@dataclass(frozen=True)
class Before:
    """A run that comes before that of an arm, in the folder runs/<name>."""

    name: str
    overrides: tuple[str, ...]


@dataclass(frozen=True)
class Arm:
    """One run of a system.

    figures: the metrics that the page quotes
    evaluation: more options of `composer evaluate`
    alone: whether the overrides are all that is typed, without the system's experiment
    before: the run that the arm begins with or reads
    prompts: texts that the trained model reads; what it generates is shown instead of samples of the data
    looked: options of `composer inspect`, whose answers are shown
    picture: a file that `composer inspect` writes, and what it shows
    also: further evaluations, each a name and the options or overrides of `composer evaluate`; their figures are quoted
        as "bleu, long sentences"
    """

    name: str
    overrides: tuple[str, ...]
    figures: tuple[str, ...]
    split: str = "valid"
    goal: Goal | None = None
    evaluation: tuple[str, ...] = ()
    also: tuple[tuple[str, tuple[str, ...]], ...] = ()
    alone: bool = False
    before: Before | None = None
    prompts: tuple[str, ...] = ()
    looked: tuple[str, ...] = ()
    picture: tuple[str, str] | None = None

    @property
    def quoted(self) -> list[str]:
        """The names of all figures, those of further evaluations with their labels."""
        return [*self.figures, *(f"{figure}, {label}" for label, _ in self.also for figure in self.figures)]

    def typed(self, system: str) -> tuple[str, ...]:
        """The overrides of train.py."""
        return self.overrides if self.alone else (f"experiment={system}", *self.overrides)


@dataclass(frozen=True)
class System:
    """A named system, by its name in conf/experiment.

    data: what the arms are trained on
    published: the figure of the paper, or of another implementation, and its conditions
    remarks: what the figures show, and the likely reason where a goal is not reached
    """

    name: str
    data: str
    arms: tuple[Arm, ...]
    published: str = ""
    remarks: str = ""

    @property
    def reads_a_run(self) -> bool:
        """Whether the graph of the experiment can be drawn only where an earlier run is: then its run draws it."""
        return any(arm.before is not None and not arm.alone for arm in self.arms)

    def run_name(self, arm: Arm) -> str:
        """The name of the arm's run, without characters that an override would need quotes for."""
        return re.sub(r"[^\w.-]", "", f"{self.name}-{arm.name}".replace(" ", "_"))
