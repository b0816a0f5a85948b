"""Pass 5: which inputs are generated; nodes that depend on one stream (a decoder), all others run once (an encoder).

An input that a head predicts from its earlier steps is generated. Where another head reads the input as a whole, as a
classifier reads the text that an auxiliary language model predicts, the input is given, and the head that predicts the
input reads one step late instead: its prediction of a step depends on the earlier steps alone, as in generation.
"""

from __future__ import annotations

from dataclasses import replace

from composer.core.problems import Report
from composer.graph.compiler.prove import late_sources, trace_field
from composer.graph.graph import Graph


def split(graph: Graph, report: Report) -> None:
    """Complete the graph's plan: the inputs that are generated, the nodes that stream, and what heads read late."""
    nodes, inputs = graph.plan.nodes, graph.plan.inputs
    generated: set[str] = set()
    for name in inputs:
        traces = trace_field(graph, name)
        own = [head for head in graph.heads if head.predicts == name and head.name in traces]
        late = {head.name: late_sources(head, graph, traces) for head in own}
        if own and not any(late.values()):
            generated.add(name)
        nodes = tuple(replace(node, late=late.get(node.name) or node.late) for node in nodes)
    streams: set[str] = set()
    for node in nodes:
        if any(name in generated or name in streams for name in node.inputs):
            streams.add(node.name)
    graph.plan = replace(graph.plan, nodes=nodes, generated=frozenset(generated), streams=frozenset(streams))
    _check_axes(graph, report)


def _check_axes(graph: Graph, report: Report) -> None:
    """No field can be generated along a given one: decoding reads no step of that field and does not know its end."""
    plan = graph.plan
    for head in graph.heads:
        target, read = str(head.predicts), graph.reads(head.name)
        if target not in plan.generated & read:
            continue
        axis = plan.inputs[target].axis or target
        for name, field in plan.given.items():
            if name in read and (field.axis or name) == axis:
                report.add(
                    f"{head.path}.predicts",
                    f"'{target}' has one value for every step of the given '{name}', so it cannot be generated "
                    f"step by step from its own earlier values. Let '{head.name}' depend on one of the two only.",
                )
