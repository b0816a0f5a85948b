"""Influence: how much every input changes every head's inputs and output.

The influence of a field on a signal is the change of the signal when the field's values are drawn again at random,
divided by sqrt(2) times the size of the signal: 0 if the signal does not change, 1 if it becomes independent of the
old one. The influence of a field's order is measured in the same way after shuffling the steps of every row. Outputs
along the same steps are put back into the old order before they are compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from composer.core.signals import Signal, Timed
from composer.graph.graph import Graph
from composer.graph.signal_flow.inputs import draw
from composer.graph.signal_flow.sizes import rms, times


@dataclass(frozen=True)
class Influence:
    """How much a field changes a head's inputs and output.

    order: whether the order of the field's steps was changed, rather than its values
    reads: the influence on the head's inputs, the largest over its ports
    output: the influence on the head's output, relative to its size around its mean over all steps
    """

    head: str
    field: str
    order: bool
    reads: float
    output: float


@torch.no_grad()
def influences(graph: Graph, inputs: Mapping[str, Signal], generator: torch.Generator) -> Iterator[Influence]:
    """The influence of every field and its order on every head that it reaches."""
    ends = [head.name for head in graph.heads] or [graph.plan.nodes[-1].name]
    before = graph.run(inputs)
    for name, signal in inputs.items():
        counts = signal.counts if isinstance(signal, Timed) else torch.ones(signal.batch, dtype=torch.long)
        changes: list[tuple[bool, Signal, Tensor | None]] = [
            (False, draw(graph.plan.inputs[name], counts, generator), None)
        ]
        if isinstance(signal, Timed):
            shuffle = _shuffle(signal, generator)
            changes.append((True, signal.reordered(shuffle), shuffle))
        for shuffled, changed, order in changes:
            after = graph.run({**inputs, name: changed})
            for end in ends:
                if name in graph.reads(end):
                    reads = [_influence(before[at], after[at], order, signal) for at in _read(graph, end)]
                    output = _influence(before[end], after[end], order, signal, centred=True)
                    yield Influence(end, name, shuffled, max(reads), output)


def _read(graph: Graph, end: str) -> list[str]:
    """The nodes that a head reads; the node itself if it is no head or if the head reads only fields."""
    node = next(node for node in graph.plan.nodes if node.name == end)
    if node.predicts is None:
        return [end]
    return [name for name in node.inputs if name in graph.nodes] or [end]


def _influence(before: Signal, after: Signal, order: Tensor | None, field: Signal, *, centred: bool = False) -> float:
    if order is not None and isinstance(after, Timed) and isinstance(field, Timed):
        along = torch.equal(after.counts, field.counts)  # every time axis has its own lengths
        after = after.reordered(order.argsort(dim=1)) if along else after
    size = rms(before, before.values - _mean(before)) if centred else rms(before)
    return times(rms(before, after.values - before.values), math.sqrt(2) * size)


def _mean(signal: Signal) -> Tensor:
    """The mean over all rows and real steps, (D,)."""
    mask = signal.mask if isinstance(signal, Timed) else None
    values = signal.values.flatten(0, -2) if mask is None else signal.values[mask]
    return values.mean(0)


def _shuffle(signal: Timed, generator: torch.Generator) -> Tensor:
    """(B, T), a random permutation of every row's real steps; padding stays in place."""
    keys = torch.rand(signal.batch, signal.time, generator=generator)
    mask = signal.mask
    if mask is not None:
        keys = torch.where(mask, keys, 1.0 + torch.arange(signal.time))
    return keys.argsort(dim=1)
