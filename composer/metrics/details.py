"""Beside the metrics of an evaluation: the figures of every class, what is confused with what, the worst examples."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from composer.core.storage.atomic_files import finite
from composer.core.target import Target
from composer.graph.graph import Graph
from composer.metrics.head_batches import HeadBatches
from composer.metrics.metric import HeadBatch
from composer.metrics.outcomes import ByName, ClassOutcomes, by_name, outcomes_of, predicts_classes
from composer.metrics.shown_examples import texts_of
from composer.objectives import Objective

#: What a sample calls otherwise.
NAMES = {"found": "predicted"}


@dataclass
class HeadDetails:
    """
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


class Details:
    """Collects the details of all heads, batch by batch.

    worst: the number of examples with the largest loss to keep
    """

    def __init__(self, graph: Graph, objective: Objective, worst: int) -> None:
        self.graph, self.objective, self.worst = graph, objective, worst
        self.heads = {head.name: HeadDetails() for head in graph.heads}

    def add(self, views: Mapping[str, HeadBatches]) -> None:
        for head in self.graph.heads:
            target, view, known = self.graph.target(head), views[head.name], self.heads[head.name]
            if (counts := by_name(view.steps, target)) is not None:
                known.by_name = counts if known.by_name is None else known.by_name + counts
            if predicts_classes(target):
                outcomes = outcomes_of(view.steps, target)
                known.outcomes = outcomes if known.outcomes is None else known.outcomes + outcomes
            if self.worst and view.whole.target.batch and target.compared:
                self._add_worst(known, target, view.whole)

    def _add_worst(self, known: HeadDetails, target: Target, seen: HeadBatch) -> None:
        losses = seen.weighted(seen.losses).nan_to_num(nan=math.inf, posinf=math.inf)
        rows = losses.argsort(descending=True, stable=True)[: self.worst]
        least = known.worst[-1]["loss"] if len(known.worst) == self.worst else -math.inf
        rows = rows[losses[rows] > least]
        if len(rows):
            texts = texts_of(self.objective, target, seen.chosen(rows))
            new = [
                {"loss": loss} | {NAMES.get(name, name): shown for name, shown in text.items()}
                for loss, text in zip(losses[rows].tolist(), texts, strict=True)
            ]
            known.worst = sorted([*known.worst, *new], key=lambda row: -row["loss"])[: self.worst]
