"""What an arm costs, in one table: the terminal, JSON, the report and W&B have a column for each row of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from composer.graph.describe import human
from composer.studies.records.run_records import ComparedRun
from composer.studies.statistics.over_seeds import Estimate

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
