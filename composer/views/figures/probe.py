"""Running a graph on a batch to inspect its signals and gradients, without changing the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch.utils import _pytree as pytree

from composer.core.signals import Signal, Timed
from composer.graph.graph import Graph, evaluating
from composer.objectives import Batch


@contextmanager
def with_gradients(graph: Graph) -> Iterator[None]:
    """Turn dropout off and gradients on, also inside inference mode. Every module's mode is restored afterwards."""
    # cuDNN's recurrent layers have no backward pass in evaluation mode.
    with (
        evaluating(graph), torch.inference_mode(False), torch.enable_grad(), torch.backends.cudnn.flags(enabled=False),
    ):  # fmt: skip
        yield


def some_rows(batch: Batch, rows: Sequence[int]) -> Batch:
    """Some rows of a batch, as long as the longest of them."""
    some: Batch = pytree.tree_map(lambda leaf: leaf[list(rows)], batch)
    time = {
        name: max(1, int(signal.counts.max())) for name, signal in some.signals.items() if isinstance(signal, Timed)
    }
    signals = {
        name: signal.steps(0, time[name]) if isinstance(signal, Timed) else signal
        for name, signal in some.signals.items()
    }
    weights = {name: weight[:, : time[name]] if name in time else weight for name, weight in some.weights.items()}
    return Batch(signals, weights)


def read_inputs(graph: Graph, signals: Mapping[str, Signal]) -> dict[str, Signal]:
    """The graph's inputs for a batch, with teacher forcing, as tensors through which gradients can pass."""
    device = graph.device
    here = {name: pytree.tree_map(lambda leaf: leaf.to(device).clone(), signal) for name, signal in signals.items()}
    return graph.read(here)


def time_axes(graph: Graph, signals: Mapping[str, Signal]) -> dict[str, str]:
    """For each signal with a time axis, the field whose time steps it follows."""
    axes = {name: field.axis or name for name, field in graph.plan.inputs.items() if field.timed}
    for node in graph.plan.nodes:
        source = node.inputs[0]  # its main input
        output, read = signals[node.name], signals[source]
        if source in axes and isinstance(output, Timed) and isinstance(read, Timed) and output.time == read.time:
            axes[node.name] = axes[source]
    return axes
