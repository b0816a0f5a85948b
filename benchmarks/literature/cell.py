"""What a published figure is: its source, its statistic, and when ours counts as the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

#: Where the value was seen.
Checked = Literal["text", "quoted", "cited"]

CHECKED: dict[Checked, str] = {
    "text": "checked against the paper's text",
    "quoted": "as another paper or the authors' page quotes it",
    "cited": "as cited, not checked",
}


@dataclass(frozen=True)
class Paper:
    """
    where: the table or figure
    statistic: what the paper reports, in words
    settings: how the paper trained and tested
    changed: what is different here, so that two cores suffice
    seen: where the values were seen
    """

    name: str
    title: str
    arxiv: str
    where: str
    statistic: str
    settings: str
    changed: str
    seen: str


@dataclass(frozen=True)
class Statistic:
    """How ours is computed from the values of the seeds.

    words: what it is called on the page
    """

    words: str
    of: Callable[[Sequence[float]], float]
    chance: float | None = None

    def value(self, values: Sequence[float]) -> float:
        """The statistic of the accuracies or losses of the seeds; scaled where chance is given."""
        return scaled(self.of(values), self.chance) if self.chance is not None else self.of(values)


def scaled(accuracy: float, chance: float) -> float:
    """0 for guessing, 1 for no error."""
    return (accuracy - chance) / (1 - chance)


BEST = Statistic("best seed", max)
MEAN = Statistic("mean over seeds", fmean)


def scaled_best(chance: float) -> Statistic:
    return Statistic(f"scaled accuracy of the best seed, chance {chance:g}", max, chance)


@dataclass(frozen=True)
class Rule:
    """When ours counts as the paper's result. Exactly one of the numbers is given.

    solved: both values are at or above it, or both are below
    within: the two values differ by at most this much
    at_least, at_most: ours is not worse than the goal by more than this, for scores and for losses
    """

    solved: float | None = None
    within: float | None = None
    at_least: float | None = None
    at_most: float | None = None

    def reached(self, ours: float, goal: float) -> bool:
        if self.solved is not None:
            return (ours >= self.solved) == (goal >= self.solved)
        if self.within is not None:
            return abs(ours - goal) <= self.within
        if self.at_least is not None:
            return ours >= goal - self.at_least
        assert self.at_most is not None, "a rule has a number"
        return ours <= goal + self.at_most

    def __str__(self) -> str:
        if self.solved is not None:
            return f"on the same side of {self.solved:g}"
        if self.within is not None:
            return f"within {self.within:g}"
        if self.at_least is not None:
            return f"at most {self.at_least:g} below" if self.at_least else "at least as high"
        return f"at most {self.at_most:g} above" if self.at_most else "at least as low"


@dataclass(frozen=True)
class Cell:
    """A published figure.

    study: of conf/study; its runs are those of the command
    arm: of the study; None where a block that the catalogue lacks has to come first
    model, task: the paper's names
    metric: of the runs, such as test/accuracy
    by_sequence: whether ours is the mean over test examples of the metric of each, so that every sequence counts alike;
        else long sequences, which have more symbols, weigh more
    checked: where the value was seen
    chance: what guessing gives, in the units of the goal
    waits_for: the missing block
    left_out: why the study does not have the arm
    gallery: the system and the arm of the gallery that measured it, instead of a study
    stands_for: what is different between the paper's model and the arm
    known: what is known about a miss
    """

    study: str
    paper: Paper
    model: str
    task: str
    goal: float
    arm: str | None
    statistic: Statistic
    rule: Rule
    checked: Checked
    metric: str = "test/accuracy"
    by_sequence: bool = False
    chance: float | None = None
    waits_for: str = ""
    left_out: str = ""
    gallery: tuple[str, str] | None = None
    stands_for: str = ""
    known: str = ""

    @property
    def guessed(self) -> bool:
        """Whether guessing would reach the goal, so that reaching it shows no more than a failure to learn."""
        return self.chance is not None and self.rule.reached(self.chance, self.goal)

    @property
    def id(self) -> str:
        return f"{self.study}/{self.model}/{self.task}".lower().replace(" ", "_")

    @property
    def command(self) -> str:
        return f"python train.py -m study={self.study}"
