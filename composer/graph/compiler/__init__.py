"""The compiler: from a config to a checked graph, before any weight is allocated.

    bind    checks the keys of every node against its block's constructor
    wire    resolves ports and edges: missing, unknown, cyclic and dangling edges are errors
    infer   builds and runs every node on the meta device: kinds, shapes, widths
    prove   checks that no path lets a head read what it has to predict (no leak of the future)
    split   divides the nodes into those that run once and those that stream

Every pass reports all the problems it finds and continues with the nodes without one, so that one compilation reports
everything that is wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from composer.core.problems import ConfigError, Locate, Report
from composer.core.signals import Field
from composer.graph.compiler.bind import bind_nodes, refuse_files
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
    reveals: Mapping[str, Collection[str]] | None = None,
    locate: Locate = lambda path: "",
    path: str = "model.nodes",
    files: bool = True,
) -> Graph:
    """The graph that ``nodes`` declare over the data's ``fields``, on the meta device.

    reveals: by field, the other fields that it reveals, as a reversed copy does: see ``Objective.reveals``
    files: whether blocks may be built from files that ``nodes`` name

    Raises a ConfigError with every problem found. ``graph.materialise()`` allocates the graph's weights.
    """
    report = Report()
    drafts = bind_nodes(nodes, path, report)
    if not files:
        refuse_files(drafts)
    ordered = wire(drafts, fields, path, report)
    graph = infer(ordered, fields, report)
    prove(graph, reveals or {}, report)
    split(graph, report)
    if report.problems:
        raise ConfigError(report.problems, locate)
    return graph
