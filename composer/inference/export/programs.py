"""Parts traced by torch.export, every open axis left open."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.export import Dim, ExportedProgram

from composer.core.problems import UserError
from composer.graph.graph import Graph
from composer.inference.export.functions import TracedFunction, start_part, step_part, whole_part
from composer.inference.export.tensors import Layout


@dataclass(frozen=True)
class Programs:
    """A graph's parts, each with its program, and how the state between them is laid out where there is one."""

    parts: list[tuple[TracedFunction, ExportedProgram]]
    layout: Layout | None = None


def trace(graph: Graph) -> Programs:
    """Every part of a graph that is on the CPU and in evaluation."""
    model = whole_part(graph)
    traced = [(model, program(model))]
    if not graph.plan.generated:
        return Programs(traced)
    step, layout = step_part(graph)
    start = start_part(graph, layout)
    return Programs([*traced, (start, program(start)), (step, program(step))], layout)


@torch.no_grad()
def program(part: TracedFunction) -> ExportedProgram:
    """The part as torch's own program."""
    shapes = {name: dict.fromkeys(axes, Dim.DYNAMIC) for name, axes in part.axes.items()}
    traced = torch.export.export(part.module, (part.inputs,), dynamic_shapes={"inputs": shapes}, strict=False)
    for module in traced.graph_module.modules():
        for node in getattr(module, "graph", torch.fx.Graph()).nodes:
            node.meta.pop("stack_trace", None)  # which file of whose computer it came from
    try:
        traced.module()(part.others)
    except AssertionError as error:  # a guard of torch's, on what was taken for fixed
        raise UserError(
            f"the part '{part.name}' of this graph cannot be exported for any batch and length: "
            f"{str(error).splitlines()[0]}. A block in it depends on a size; let its class say exports = False."
        ) from error
    return traced
