"""Arms: runs that differ in their seeds alone, and what they cost.

The costs are one table: the terminal, JSON, the report and W&B have a column for each row of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from composer.graph.describe import human
from composer.studies.records.run_records import ComparedRun
from composer.studies.statistics.over_seeds import Estimate, estimate

Place = Literal["terminal", "json", "report", "wandb"]

EVERYWHERE: tuple[Place, ...] = ("terminal", "json", "report", "wandb")


@dataclass(frozen=True)
class Cost:
    """
    key: in JSON
    label: in the report and on W&B
    unit: s and B are shown in prefixes of their own; empty for plain numbers
    direction: whether less (min) or more (max) of it is better
    read: the value of a run; None if the run did not record one
    heading: in the terminal, where there is less room; the label by default
    rank: where the terminal is too narrow for all columns, the lowest is left out first
    shown: where there is a column for it
    """

    key: str
    label: str
    unit: str
    direction: Literal["min", "max"]
    read: Callable[[ComparedRun], float | None]
    heading: str = ""
    rank: int = 0
    shown: tuple[Place, ...] = EVERYWHERE

    def cell(self, found: Estimate | None) -> str:
        """The mean over an arm's runs as text, whose unit the heading names."""
        if found is None:
            return "-"
        if self.unit == "s":
            return f"{found.mean:,.0f}" if found.mean >= 100 else f"{found.mean:.3g}"
        return human(found.mean, "B" if self.unit == "B" else "")


def _training_flops(run: ComparedRun) -> float | None:
    """Of the whole training: three times those of the forward pass, over all examples."""
    flops, examples = run.record.size.get("train_flops_per_example"), run.record.last.get("examples")
    return flops * examples if flops and examples else None


def _speed(run: ComparedRun) -> float | None:
    """The mean over the whole run."""
    tokens, seconds = run.record.last.get("tokens"), run.seconds
    return tokens / seconds if tokens and seconds else None


#: The costs in the order of their columns.
COSTS = (
    Cost("parameters", "parameters", "", "min", lambda run: run.record.size.get("parameters"), rank=5),
    Cost(
        "flops_per_token",
        "FLOPs a token",
        "FLOPs",
        "min",
        lambda run: run.record.size.get("flops_per_token"),
        "FLOPs/token",
        3,
    ),
    Cost("training_flops", "training FLOPs", "FLOPs", "min", _training_flops, shown=("report", "wandb")),
    Cost("seconds", "training time", "s", "min", lambda run: run.seconds, "seconds", 4),
    Cost("tokens_per_second", "tokens a second", "tokens/s", "max", _speed, "tokens/s", 2),
    Cost("peak_memory", "peak memory", "B", "min", lambda run: run.record.peak_memory, rank=1),
)


def costs(place: Place) -> list[Cost]:
    """The costs that have a column in a place."""
    return [cost for cost in COSTS if place in cost.shown]


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
