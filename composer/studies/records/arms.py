"""Arms: runs that differ in their seeds alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from composer.studies.records.costs import Cost
from composer.studies.records.run_records import ComparedRun
from composer.studies.statistics.over_seeds import Estimate, estimate


@dataclass(frozen=True)
class Arm:
    """Runs that differ in their seeds alone.

    runs: the finished runs, by seed
    overrides: those that set the arm apart from the others
    diverged: the seeds whose training diverged, so that their runs have no result
    config: of its first run, whether this diverged or not
    """

    name: str
    runs: tuple[ComparedRun, ...]
    overrides: tuple[str, ...]
    diverged: tuple[int, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)

    def quality(self, metric: str) -> Estimate:
        """The metric of the best checkpoints, over the seeds that did not diverge; NaN if all did."""
        return estimate([run.result[metric] for run in self.runs])

    def measured(self, metric: str) -> bool:
        """Whether every run has the metric. Some are NaN where the data has nothing to measure, as BLEU is."""
        return bool(self.runs) and all(math.isfinite(run.result.get(metric, math.nan)) for run in self.runs)

    def cost(self, cost: Cost) -> Estimate | None:
        """The mean over the runs that recorded it; None if none did."""
        known = [found for run in self.runs if (found := cost.read(run)) is not None]
        return estimate(known) if known else None
