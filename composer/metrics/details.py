"""Beside the metrics of an evaluation: the figures of every class, what is confused with what, the worst examples."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from composer.core.storage.atomic_files import finite
from composer.core.target import Target
from composer.metrics.head_batches import HeadBatches
from composer.metrics.metric import HeadBatch
from composer.metrics.outcomes import ByName, ClassOutcomes, by_name, outcomes_of, predicts_classes
from composer.metrics.shown_examples import texts_of
from composer.objectives import Objective

#: What a sample calls otherwise.
NAMES = {"found": "predicted"}


@dataclass
class HeadDetails:
    """What is known of the examples of one head.

    by_name: of a head that predicts classes, tags, entities or labels
    outcomes: of a head that predicts classes or tags
    worst: the examples with the largest loss, the largest first: the loss of the whole example, and its texts
    """

    by_name: ByName | None = None
    outcomes: ClassOutcomes | None = None
    worst: list[dict[str, Any]] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """All of this as plain data."""
        known: dict[str, Any] = {"worst": self.worst}
        if self.outcomes is not None:
            keys = ("wanted", "predicted", "count")
            known = {"confusion": [dict(zip(keys, cell, strict=True)) for cell in self.outcomes.cells()], **known}
        if self.by_name is not None:
            known = {f"by_{self.by_name.kind}": self.by_name.rows(), **known}
        return finite(known)

    def add(self, view: HeadBatches, target: Target, objective: Objective, most: int) -> None:
        """Add a batch, of which at most ``most`` examples are among the worst."""
        if (counts := by_name(view.steps, target)) is not None:
            self.by_name = counts if self.by_name is None else self.by_name + counts
        if predicts_classes(target):
            outcomes = outcomes_of(view.steps, target)
            self.outcomes = outcomes if self.outcomes is None else self.outcomes + outcomes
        if most and view.whole.target.batch and target.compared:
            self._add_worst(view.whole, target, objective, most)

    def _add_worst(self, seen: HeadBatch, target: Target, objective: Objective, most: int) -> None:
        losses = seen.weighted(seen.losses).nan_to_num(nan=math.inf, posinf=math.inf)
        rows = losses.argsort(descending=True, stable=True)[:most]
        least = self.worst[-1]["loss"] if len(self.worst) == most else -math.inf
        rows = rows[losses[rows] > least]
        if len(rows):
            texts = texts_of(objective, target, seen.chosen(rows))
            new = [
                {"loss": loss} | {NAMES.get(name, name): shown for name, shown in text.items()}
                for loss, text in zip(losses[rows].tolist(), texts, strict=True)
            ]
            self.worst = sorted([*self.worst, *new], key=lambda row: -row["loss"])[:most]
