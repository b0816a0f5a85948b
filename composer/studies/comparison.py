"""Runs grouped into arms and judged by one metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from composer.studies.runs import RunRecord
from composer.studies.statistics import Estimate


@dataclass(frozen=True)
class Arm:
    """Runs that differ in their seeds alone.

    runs: the finished runs, by seed
    overrides: those that set the arm apart from the others
    """

    name: str
    runs: tuple[RunRecord, ...]
    overrides: tuple[str, ...]

    def quality(self, metric: str) -> Estimate:
        """The metric of the best checkpoints, over seeds."""
        raise NotImplementedError

    @property
    def parameters(self) -> Estimate | None:
        raise NotImplementedError

    @property
    def flops_per_token(self) -> Estimate | None:
        raise NotImplementedError

    @property
    def seconds(self) -> Estimate | None:
        raise NotImplementedError

    @property
    def tokens_per_second(self) -> Estimate | None:
        raise NotImplementedError

    @property
    def peak_memory(self) -> Estimate | None:
        raise NotImplementedError


@dataclass(frozen=True)
class Verdict:
    """An arm against the best arm.

    difference: the arm minus the best; paired by seed where two or more seeds are shared, else Welch's interval
    p: of the two-sided test, after Holm's correction; None if it cannot be told, with one seed
    distinguishable: whether p is below 0.05; None if it cannot be told
    seeds_needed: the fewest seeds with which the difference seen would be found with a power of 80 %, for an arm that
        is not distinguishable; None if these are more than 1,000
    """

    arm: str
    best: str
    difference: Estimate
    p: float | None
    distinguishable: bool | None
    seeds_needed: int | None
    paired: bool

    @property
    def words(self) -> str:
        """The verdict for people: 'worse', 'not distinguishable (12 seeds would tell)', 'one seed: cannot be told'."""
        raise NotImplementedError


@dataclass(frozen=True)
class Comparison:
    """
    arms: best first
    judged: the metric that ranks the arms, such as valid/loss
    direction: "min" or "max", the better direction of the judged metric
    verdicts: of every arm but the best, in the arms' order
    trials: the tuning runs of searches and studies, pruned and failed ones too
    skipped: folders that could not be compared, with the reasons
    warnings: what makes the comparison unfair or uncertain, in sentences
    sentence: the answer
    sources: the paths that the user named
    """

    arms: tuple[Arm, ...]
    judged: str
    direction: str
    verdicts: tuple[Verdict, ...]
    trials: tuple[RunRecord, ...]
    skipped: tuple[tuple[Path, str], ...]
    warnings: tuple[str, ...]
    sentence: str
    sources: tuple[Path, ...]


def compare(paths: Sequence[Path], metric: str | None = None) -> Comparison:
    """Compare the runs, sweeps and studies at these paths. ``metric`` judges them; by default, their sweep's metric."""
    raise NotImplementedError
