"""From a config to a proven graph, before any weight exists.

    bind    node keys against constructor signatures
    wire    ports and edges: missing, unknown, cyclic, dangling
    infer   build and run on the meta device: kinds, shapes, widths
    prove   no path lets a head read what it has to predict
    split   what runs once, and what streams

Every pass reports all it finds and goes on with what is sound, so that one compile names everything that is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from composer.core.problems import ConfigError, Locate, Report
from composer.core.signals import Field
from composer.graph.compiler.bind import bind_nodes
from composer.graph.compiler.infer import infer
from composer.graph.compiler.prove import prove
from composer.graph.compiler.split import split
from composer.graph.compiler.wire import wire
from composer.graph.graph import Graph

__all__ = ["compile_graph"]


def compile_graph(
    nodes: Mapping[str, Any] | None,
    fields: Mapping[str, Field],
    *,
    locate: Locate = lambda path: "",
    path: str = "model.nodes",
) -> Graph:
    """The graph that ``nodes`` declare over the data's ``fields``, on the meta device.

    Raises ConfigError with every problem found. ``graph.materialise()`` then allocates its weights.
    """
    report = Report()
    drafts = bind_nodes(nodes, path, report)
    ordered = wire(drafts, fields, path, report)
    modules, outputs = infer(ordered, fields, report)
    prove(ordered, fields, modules, outputs, report)
    if report.problems:
        raise ConfigError(report.problems, locate)
    return Graph(split(ordered, fields, outputs), modules)
