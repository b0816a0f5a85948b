"""Pass 5: which inputs are generated; nodes that depend on one stream (a decoder), all others run once (an encoder).

An input that a head predicts from its earlier steps is generated. Where another head reads the input as a whole, as a
classifier reads the text that an auxiliary language model predicts, the input is given, and the head that predicts the
input reads one step late instead: its prediction of a step depends on the earlier steps alone, as in generation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from torch import nn

from composer.core.problems import Report
from composer.core.signals import Field
from composer.graph.compiler.prove import late_sources, trace_field
from composer.graph.nodes import GraphPlan, Node


def split(
    nodes: list[Node],
    fields: Mapping[str, Field],
    modules: Mapping[str, nn.Module],
    outputs: Mapping[str, Field],
    report: Report,
) -> GraphPlan:
    nodes = [node for node in nodes if node.name in modules]
    read = {name for node in nodes for name in node.inputs}
    inputs = {name: field for name, field in fields.items() if name in read}
    generated: set[str] = set()
    for name in inputs:
        traces = trace_field(name, nodes, modules, outputs)
        own = [node for node in nodes if node.predicts == name and node.name in traces]
        late = {head.name: late_sources(head, nodes, traces) for head in own}
        if own and not any(late.values()):
            generated.add(name)
        nodes = [replace(node, late=late.get(node.name) or node.late) for node in nodes]
    streams: set[str] = set()
    for node in nodes:
        if any(name in generated or name in streams for name in node.inputs):
            streams.add(node.name)
    targets = {node.predicts: fields[node.predicts] for node in nodes if node.predicts is not None}
    plan = GraphPlan(tuple(nodes), inputs, targets, dict(outputs), frozenset(generated), frozenset(streams))
    _check_axes(plan, report)
    return plan


def _check_axes(plan: GraphPlan, report: Report) -> None:
    """No field can be generated along a given one: decoding reads no step of that field and does not know its end."""
    for head in plan.nodes:
        if head.predicts not in plan.generated:
            continue
        axis = plan.inputs[head.predicts].axis or head.predicts
        read = {name for node in plan.ancestors(head.name) for name in node.inputs}
        if head.predicts not in read:
            continue
        for name, field in plan.given.items():
            if name in read and (field.axis or name) == axis:
                report.add(
                    f"{head.path}.predicts",
                    f"'{head.predicts}' has one value for every step of the given '{name}', so it cannot be generated "
                    f"step by step from its own earlier values. Let '{head.name}' depend on one of the two only.",
                )
