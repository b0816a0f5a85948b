"""Examples as texts, for a person to read: inputs, targets and predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from composer.core.signals import Ids, Label, Signal, Timed
from composer.core.target import Target
from composer.graph.graph import Graph
from composer.metrics.head_batches import HeadBatches
from composer.metrics.metric import HeadBatch, by_row
from composer.objectives import Objective


def samples_of(
    graph: Graph, objective: Objective, views: Mapping[str, HeadBatches], count: int
) -> list[dict[str, Any]]:
    """The first ``count`` examples of a batch, for every head, without those that have nothing to predict.

    A language model is left out: it generates without inputs, so its sequences have no target to compare with.
    """
    found = []
    for head in graph.heads:
        target = graph.target(head)
        if not target.compared:
            continue
        seen = views[head.name].whole.first(count)
        label = {"head": head.name} if len(graph.heads) > 1 else {}
        for texts, counted in zip(texts_of(objective, target, seen), seen.counted_rows, strict=True):
            if counted:
                found.append({**label, **texts})
    return found


def texts_of(objective: Objective, target: Target, seen: HeadBatch) -> list[dict[str, Any]]:
    """Every row of a batch as texts: the inputs, "wanted", "found", and whether this is "right"."""
    given = {name: seen.given[name] for name in objective.shown_once(seen.given)}
    columns = {name: objective.show(name, signal) for name, signal in given.items() if signal.kind != "image"}
    columns |= {"wanted": seen.wanted_texts, "found": seen.show(_as_counted(target, seen))}
    rows = zip(*columns.values(), _right(target, seen), strict=True)
    return [dict(zip((*columns, "right"), row, strict=True)) for row in rows]


def _as_counted(target: Target, seen: HeadBatch) -> Signal:
    """The prediction, with the target's own values at the steps that were not to be predicted."""
    if target.compares_texts or not isinstance(seen.found, Timed) or not isinstance(seen.target, Timed):
        return seen.found
    counted = seen.counted.view(*seen.counted.shape, *(1,) * (seen.found.values.dim() - 2))
    values = torch.where(counted, seen.found.values, seen.target.values.to(seen.found.values.dtype))
    return type(seen.found)(values, seen.target.lengths)


def _right(target: Target, seen: HeadBatch) -> list[bool] | list[None]:
    if target.compares_texts:
        return [found in wanted for wanted, found in zip(seen.references, seen.found_texts, strict=True)]
    if isinstance(seen.target, Ids | Label):
        return [not wrong for wrong in by_row(seen.counted.double() - seen.right).any(1).tolist()]
    if target.binary:
        wanted, found, _ = seen.numbers()
        return [not wrong for wrong in (wanted != found).any((1, 2)).tolist()]
    return [None] * seen.target.batch
