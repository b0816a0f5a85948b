"""The functions of a graph, traced by torch.export with dynamic batch sizes and lengths."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.export import Dim, ExportedProgram

from composer.core.problems import UserError
from composer.graph.graph import Graph
from composer.inference.export.functions import TracedFunction, start_part, step_part, whole_part
from composer.inference.export.named_tensors import StateLayout
from composer.inference.export.tracing import quick_tracing


@dataclass(frozen=True)
class Programs:
    """The functions of a graph, each with its program, and the layout of the state if the graph generates."""

    parts: list[tuple[TracedFunction, ExportedProgram]]
    layout: StateLayout | None = None


def trace(graph: Graph) -> Programs:
    """Trace every function of a graph, which has to be on the CPU and in evaluation mode."""
    model = whole_part(graph)
    traced = [(model, program(model))]
    if not graph.plan.generated:
        return Programs(traced)
    step, layout = step_part(graph)
    if layout.tensors:  # a graph that remembers nothing has no state to start from
        start = start_part(graph, layout)
        traced.append((start, program(start)))
    return Programs([*traced, (step, program(step))], layout)


@torch.no_grad()
def program(part: TracedFunction) -> ExportedProgram:
    """A function as a program of torch.export, tested with inputs of other sizes."""
    shapes = {name: dict.fromkeys(axes, Dim.DYNAMIC) for name, axes in part.axes.items()}
    with quick_tracing():
        traced = torch.export.export(part.module, (part.inputs,), dynamic_shapes={"inputs": shapes}, strict=False)
    for module in traced.graph_module.modules():
        for node in getattr(module, "graph", torch.fx.Graph()).nodes:
            node.meta.pop("stack_trace", None)  # the few that torch adds by itself
    try:
        traced.module()(part.others)
    except AssertionError as error:  # torch's guard on a size that the tracer took for fixed
        raise UserError(
            f"the part '{part.name}' of this graph cannot be exported for any batch and length: "
            f"{str(error).splitlines()[0]}. A block in it depends on a size; let its class say exports = False."
        ) from error
    return traced
