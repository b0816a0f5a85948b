"""The functions of a graph, traced by torch.export with dynamic batch sizes and lengths."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch.export import Dim, ExportedProgram

from composer.core.problems import UserError
from composer.core.stack_traces import without_stack_traces
from composer.graph.graph import Graph
from composer.inference.export.functions import GraphFunction, start_function, step_function, whole_function
from composer.inference.export.named_tensors import StateLayout


@dataclass(frozen=True)
class Programs:
    """The functions of a graph, each with its program, and the layout of the state if the graph generates."""

    parts: list[tuple[GraphFunction, ExportedProgram]]
    layout: StateLayout | None = None


def trace(graph: Graph) -> Programs:
    """Trace every function of a graph, which has to be on the CPU and in evaluation mode."""
    functions, layout = [whole_function(graph)], None
    if graph.plan.generated:
        step, layout = step_function(graph)
        start = [start_function(graph, layout)] if layout.tensors else []  # without a memory there is no state to start
        functions += [*start, step]
    return Programs([(function, program(function)) for function in functions], layout)


@torch.no_grad()
def program(function: GraphFunction) -> ExportedProgram:
    """A function as a program of torch.export, tested with inputs of other sizes."""
    shapes = {name: dict.fromkeys(axes, Dim.DYNAMIC) for name, axes in function.axes.items()}
    with quick_tracing():
        traced = torch.export.export(function, (function.inputs,), dynamic_shapes={"inputs": shapes}, strict=False)
    for module in traced.graph_module.modules():
        for node in getattr(module, "graph", torch.fx.Graph()).nodes:
            node.meta.pop("stack_trace", None)  # the few that torch adds by itself
    try:
        traced.module()(function.others)
    except AssertionError as error:  # torch's guard on a size that the tracer took for fixed
        raise UserError(
            f"the part '{function.name}' of this graph cannot be exported for any batch and length: "
            f"{str(error).splitlines()[0]}. A block in it depends on a size; let its class say exports = False."
        ) from error
    return traced


@contextmanager
def quick_tracing() -> Iterator[None]:
    """Operations traced in a ``with`` block have no stack traces, and torch keeps no cache of results.

    With symbolic sizes, the keys of this cache cost more time than its hits save. With fixed sizes they do not.
    """
    import torch._dynamo.config  # takes a second, which every trace spends, but no import of this room

    with without_stack_traces(), torch._dynamo.config.patch(fake_tensor_cache_enabled=False):
        yield
