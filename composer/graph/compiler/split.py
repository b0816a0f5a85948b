"""Pass 5: nodes that depend on a generated sequence stream (a decoder); all others run once (an encoder)."""

from __future__ import annotations

from collections.abc import Mapping

from composer.core.signals import Field
from composer.graph.nodes import GraphPlan, Node


def split(nodes: list[Node], fields: Mapping[str, Field], outputs: Mapping[str, Field]) -> GraphPlan:
    read = {name for node in nodes for name in node.inputs}
    inputs = {name: field for name, field in fields.items() if name in read}
    generated = frozenset(node.predicts for node in nodes if node.predicts in inputs)
    streams: set[str] = set()
    for node in nodes:
        if any(name in generated or name in streams for name in node.inputs):
            streams.add(node.name)
    targets = {node.predicts: fields[node.predicts] for node in nodes if node.predicts is not None}
    return GraphPlan(tuple(nodes), inputs, targets, dict(outputs), generated, frozenset(streams))
