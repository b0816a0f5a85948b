"""The manifest of an export: fields, heads, and the inputs, outputs and states of every program, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

import sympy  # type: ignore[import-untyped]
import torch
from torch import Tensor
from torch.export import ExportedProgram

from composer.core.registry import block_name
from composer.core.signals import Field
from composer.core.version import __version__
from composer.graph.graph import Graph
from composer.inference.export.functions import GraphFunction, following
from composer.inference.export.programs import Programs
from composer.inference.export.weights_file import WEIGHTS

VERSION = 1


def describe(
    graph: Graph, programs: Programs, format: str, files: Mapping[str, str], metadata: Mapping[str, Any]
) -> dict[str, Any]:
    plan, layout = graph.plan, programs.layout
    heads = {head.name: {"type": block_name(graph.nodes[head.name]), "predicts": head.predicts} for head in graph.heads}
    manifest: dict[str, Any] = {
        "version": VERSION,
        "format": format,
        "made_with": {"sequence-composer": __version__, "torch": str(torch.__version__)},
        "fields": {name: _field(field) for name, field in (plan.inputs | plan.targets).items()},
        "generated": sorted(plan.generated),
        "heads": heads,
        "metadata": dict(metadata),
    }
    if format == "safetensors":
        return manifest | {"weights": WEIGHTS}
    manifest["parts"] = {
        part.name: {"file": files[part.name], **_ends(part, program)} for part, program in programs.parts
    }
    if layout is not None:
        manifest["state"] = [
            {"name": name, "next": following(name) if name in layout.changing else None} for name in layout.tensors
        ]
    return manifest


def _field(field: Field) -> dict[str, Any]:
    plain = asdict(field)
    return {name: value for name, value in (plain | plain.pop("contents")).items() if value is not None}


def _ends(part: GraphFunction, program: ExportedProgram) -> dict[str, Any]:
    """The inputs and outputs of a program, in order: names, dtypes and shapes, with names for dynamic sizes."""
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    inputs = [values[name] for name in program.graph_signature.user_inputs]
    outputs = [values[name] for name in program.graph_signature.user_outputs]
    sizes: dict[sympy.Symbol, sympy.Symbol] = {}
    for axes, value in zip(part.axes.values(), inputs, strict=True):
        for axis, size in axes.items():
            sizes.setdefault(value.shape[axis].node.expr, sympy.Symbol(size))
    return {"inputs": _tensors(part.inputs, inputs, sizes), "outputs": _tensors(part.outputs, outputs, sizes)}


def _tensors(
    names: Iterable[str], values: Iterable[Tensor], sizes: Mapping[sympy.Symbol, sympy.Symbol]
) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "dtype": str(value.dtype).removeprefix("torch."),
            "shape": [size if isinstance(size, int) else str(size.node.expr.xreplace(sizes)) for size in value.shape],
        }
        for name, value in zip(names, values, strict=True)
    ]
