"""Pass 4: no head may read what it has to predict (no leak of the future).

An input that is also predicted is shifted right by one step (teacher forcing), so a step may depend on all earlier
steps of the input, and on nothing else of it. A node on the way to the head leaks the future if it is not causal, pools
the sequence into one vector, or reads the sequence as a memory. A head that finds its own alignment (CTC) predicts no
step at a step of its own, and a head like the CRF predicts all steps together, so neither may depend on its target at
all. Nor may a head depend on another field that tells of its target, such as a reversed copy, whose steps are not those
of the target, or the characters of the target's words. Of a field whose later steps give the target away, as the value
that follows a key does, a step may depend on that step and those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial

from torch import nn

from composer.core import registry
from composer.core.block import walk
from composer.core.capabilities import declared, is_causal
from composer.core.problems import Report
from composer.graph.graph import Graph
from composer.graph.nodes import Node


@dataclass(frozen=True)
class Trace:
    """How a predicted input reaches a node: the path, and the first node on the path that leaks the future."""

    path: tuple[str, ...]
    culprit: Node | None = None
    reason: str = ""
    remedy: str = ""
    origin: str | None = None  # the key of the config to point at

    @property
    def way(self) -> str:
        """The path, as it is written in a message."""
        return " -> ".join([f"'{self.path[0]}'", *self.path[1:]])


def prove(graph: Graph, reveals: Mapping[str, Collection[str]], report: Report) -> None:
    traces = cache(partial(trace_field, graph))
    for head in graph.heads:
        target = str(head.predicts)
        for name, told in reveals.items():
            if target not in told or head.name not in traces(name):
                continue
            if not _read_late(name, head, graph, traces):
                report.add(
                    f"{head.path}.predicts",
                    f"the model reads its own answer: {traces(name)[head.name].way}. '{name}' tells of "
                    f"'{target}': both are made of one column or field of the data. Remove that edge.",
                )
        for name in (name for name, field in graph.plan.inputs.items() if field.foretells == target):
            ahead = traces(name).get(head.name)
            if ahead is not None and ahead.culprit is not None:
                report.add(
                    ahead.culprit.path,
                    f"reads the future: {ahead.way}. {ahead.reason}, and later steps of '{name}' hold what "
                    f"'{target}' asks for. {ahead.remedy}",
                    origin=ahead.origin,
                )
        trace = traces(target).get(head.name)
        if trace is None:
            continue
        way = trace.way
        module = graph.nodes[head.name]
        by_steps = declared(module, "aligned") and not declared(module, "together")
        if not graph.plan.targets[target].timed or not by_steps:  # then the head may not read the target at all
            report.add(f"{head.path}.predicts", f"the model reads its own answer: {way}. Remove that edge.")
        elif trace.culprit is not None:
            report.add(
                trace.culprit.path,
                f"reads the future: {way}. {trace.reason}, so the model would see what it has to predict. "
                f"{trace.remedy}",
                origin=trace.origin,
            )


def late_sources(head: Node, graph: Graph, traces: Mapping[str, Trace]) -> frozenset[str]:
    """The sources that a head reads one step late: those that depend on its target, if another head reads it whole.

    traces: of the target
    """
    others = [other for other in graph.heads if other.predicts != head.predicts and other.name in traces]
    if head.name not in traces or all(traces[other.name].culprit is None for other in others):
        return frozenset()
    return frozenset(head.inputs) & set(traces)


def _read_late(name: str, head: Node, graph: Graph, traces: Callable[[str], dict[str, Trace]]) -> bool:
    """Whether a head reads a field that tells of its target step by step, and one step late, so that it knows no more.

    Characters of words are an example: where the head is an auxiliary language model, it reads those before its step.
    """
    target = str(head.predicts)
    field = graph.plan.inputs[name]
    if not field.timed or (field.axis or name) != (graph.plan.targets[target].axis or target):
        return False
    late, read = late_sources(head, graph, traces(target)), traces(name)
    return read[head.name].culprit is None and late.issuperset(source for source in head.inputs if source in read)


def trace_field(graph: Graph, field: str) -> dict[str, Trace]:
    """How ``field`` reaches every node that depends on it; of several paths, one that leaks the future if any does."""
    traces = {field: Trace((field,))}
    for node in graph.plan.nodes:
        ways = [
            _step(traces[source], node, port, graph)
            for port, sources in node.sources.items()
            for source in sources
            if source in traces
        ]
        if ways:
            traces[node.name] = min(ways, key=lambda trace: trace.culprit is None)
    return traces


def _step(before: Trace, node: Node, port: str, graph: Graph) -> Trace:
    path = (*before.path, node.name)
    if before.culprit is not None:
        return replace(before, path=path)
    if port == "memory" or port in node.recipe.signature.once:
        reason = f"'{node.name}' takes it as a memory, which is read as a whole"
        return Trace(path, node, reason, "Take another node as the memory.", f"{node.path}.from.{port}")
    module = graph.nodes[node.name]
    if not is_causal(module):
        block, origin = _blame(node, module)
        remedy = "Use a causal mixer." if node.causal else "Set causal: true."
        return Trace(path, node, f"{block} looks both ways", remedy, origin)
    if not graph.plan.outputs[node.name].timed:
        reason = f"'{node.recipe.name}' folds the whole sequence into one vector"
        return Trace(path, node, reason, "Read it from a node that does not depend on it.")
    return Trace(path)


def _blame(node: Node, module: nn.Module) -> tuple[str, str]:
    """The innermost block that is not causal, and the key of the config that made it so."""
    both = [part for part in module.modules() if type(part) in registry.classes() and not is_causal(part)]
    inner = both[-1]
    chosen = [recipe for recipe in walk(node.recipe) if recipe.block is type(inner)]
    if not node.causal:
        return f"'{registry.block_name(inner)}' under 'causal: false'", f"{node.path}.causal"
    if not chosen or chosen[-1] is node.recipe:  # a block that the node made itself, such as the graph of another run
        return f"'{node.recipe.name}'", f"{node.path}.type"
    return f"'{registry.block_name(inner)}'", f"{chosen[-1].path}.type"
