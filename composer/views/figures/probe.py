"""Running a graph on a batch to inspect its signals and gradients, without changing the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch.utils import _pytree as pytree

from composer.core.signals import Signal, Timed
from composer.graph.graph import Graph, evaluating
from composer.graph.nodes import Node
from composer.objectives import Batch


@contextmanager
def with_gradients(graph: Graph) -> Iterator[None]:
    """Turn dropout off and gradients on, also inside inference mode. Every module's mode is restored afterwards."""
    # cuDNN's recurrent layers have no backward pass in evaluation mode.
    with (
        evaluating(graph), torch.inference_mode(False), torch.enable_grad(), torch.backends.cudnn.flags(enabled=False),
    ):  # fmt: skip
        yield


def first_row(batch: Batch) -> Batch:
    """The first example alone, without its padding."""

    def alone(signal: Signal) -> Signal:
        if not isinstance(signal, Timed):
            return type(signal)(signal.values[:1])
        count = max(1, int(signal.counts[0]))
        return type(signal)(signal.values[:1, :count], signal.counts[:1].clone())

    return Batch({name: alone(signal) for name, signal in batch.signals.items()})


def read_inputs(graph: Graph, signals: Mapping[str, Signal]) -> dict[str, Signal]:
    """The graph's inputs for a batch, with teacher forcing, as tensors through which gradients can pass."""
    device = graph.device
    here = {name: pytree.tree_map(lambda leaf: leaf.to(device).clone(), signal) for name, signal in signals.items()}
    return graph.read(here)


def time_axes(graph: Graph, signals: Mapping[str, Signal]) -> dict[str, str]:
    """For each signal with a time axis, the field whose time steps it follows."""
    axes = {name: field.axis or name for name, field in graph.plan.inputs.items() if field.timed}
    for node in graph.plan.nodes:
        source = first_source(node)
        output, read = signals[node.name], signals[source]
        if source in axes and isinstance(output, Timed) and isinstance(read, Timed) and output.time == read.time:
            axes[node.name] = axes[source]
    return axes


def first_source(node: Node) -> str:
    """The main input of a node, which is its first."""
    return node.inputs[0]
