"""Random inputs and targets for a graph's fields, on which the graph is measured."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from composer.core.capabilities import declared
from composer.core.signals import Field, Signal, Timed
from composer.graph.graph import Graph

#: Rows, and steps of the longest row: enough that measured sizes hardly depend on the random draw.
BATCH, TIME = 8, 32

#: The number of different lengths that time axes have; more axes repeat them, so that none is short.
LENGTHS = 4


def draw_inputs(graph: Graph, generator: torch.Generator) -> dict[str, Signal]:
    """A random signal for every input, with rows of different lengths; fields on one time axis share the lengths."""
    fields = graph.plan.inputs
    axes = sorted({field.axis or name for name, field in fields.items()})
    longest = _longest(graph, len(axes))
    lengths = {
        axis: torch.tensor([max(1, longest - number % LENGTHS - 2 * row) for row in range(BATCH)])
        for number, axis in enumerate(axes)
    }
    return {name: draw(field, lengths[field.axis or name], generator) for name, field in fields.items()}


def draw_targets(graph: Graph, outputs: Mapping[str, Signal], generator: torch.Generator) -> dict[str, Signal]:
    """A random target for every head, as long as the head's output: heads of one target may differ in their steps."""
    targets: dict[str, Signal] = {}
    for head in graph.heads:
        lengths = target_lengths(graph.nodes[head.name], outputs[head.name])
        targets[head.name] = draw(graph.plan.targets[str(head.predicts)], lengths, generator)
    return targets


def target_lengths(head: nn.Module, output: Signal) -> Tensor:
    """(B,), the steps of targets that go with a head's output."""
    lengths = output.counts if isinstance(output, Timed) else torch.ones(output.batch, dtype=torch.long)
    # A head that finds its own alignment (CTC) needs more steps than tokens.
    return lengths if declared(head, "aligned") else (lengths + 1) // 2


def draw(
    field: Field, lengths: Tensor, generator: torch.Generator, *, dtype: torch.dtype = torch.float32, scale: float = 1.0
) -> Signal:
    """A random signal of a field: ids drawn uniformly from the vocabulary, numbers from N(0, scale^2)."""
    blank = field.example(len(lengths), max(1, int(lengths.max())), device="cpu", dtype=dtype)
    if blank.values.dtype == torch.long:
        assert field.vocabulary is not None
        values = torch.randint(field.vocabulary, blank.values.shape, generator=generator)
    else:
        values = torch.randn(blank.values.shape, generator=generator, dtype=dtype) * scale
    return type(blank)(values, lengths) if isinstance(blank, Timed) else type(blank)(values)


def _longest(graph: Graph, axes: int) -> int:
    """The steps of the longest row: all inputs concatenated do not exceed the ``limit`` of any block."""
    limits = [limit for module in graph.modules() if isinstance(limit := declared(module, "limit"), int)]
    return min([TIME, *(max(1, limit // (axes + 1)) for limit in limits)])
