"""Pass 4: no head may see what it has to predict.

An input that is also predicted is read one step late, so a step may see all the steps before it, and nothing else. A node
that reads the future, folds the sequence into one vector, or takes it as a memory breaks that on the way to the head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import nn

from composer.block import is_causal
from composer.compiler.report import Report
from composer.graph import Node
from composer.signals import Field


@dataclass(frozen=True)
class Trace:
    """How a predicted input reaches a node: the way there, and the node that first let it see the future."""

    path: tuple[str, ...]
    culprit: Node | None = None
    reason: str = ""


def prove(
    nodes: list[Node],
    fields: Mapping[str, Field],
    modules: Mapping[str, nn.Module],
    outputs: Mapping[str, Field],
    report: Report,
) -> None:
    for head in nodes:
        if not head.sound or head.predicts is None:
            continue
        trace = _trace(head.predicts, nodes, modules, outputs).get(head.name)
        if trace is None:
            continue
        way = " -> ".join([f"'{trace.path[0]}'", *trace.path[1:]])
        if not fields[head.predicts].timed:
            report.add(f"{head.path}.predicts", f"the model reads its own answer: {way}. Remove that edge.")
        elif trace.culprit is not None:
            report.add(
                trace.culprit.path,
                f"reads the future: {way}. {trace.reason}, so the model would see the token it has to predict.",
                origin=f"{trace.culprit.path}.{_choice(trace.culprit)}",
            )


def _trace(
    field: str,
    nodes: list[Node],
    modules: Mapping[str, nn.Module],
    outputs: Mapping[str, Field],
) -> dict[str, Trace]:
    """How ``field`` reaches every node that depends on it; a way that sees the future comes before one that does not."""
    traces = {field: Trace((field,))}
    for node in nodes:
        if node.name not in modules:
            continue
        ways = [_step(traces[s], node, port, modules[node.name], outputs)
                for port, sources in node.sources.items() for s in sources if s in traces]
        if ways:
            traces[node.name] = min(ways, key=lambda trace: trace.culprit is None)
    return traces


def _step(before: Trace, node: Node, port: str, module: nn.Module, outputs: Mapping[str, Field]) -> Trace:
    path = (*before.path, node.name)
    assert node.recipe is not None
    if before.culprit is not None:
        return Trace(path, before.culprit, before.reason)
    if port == "memory":
        return Trace(path, node, f"'{node.name}' takes it as a memory, which is read as a whole")
    if not is_causal(module):
        return Trace(path, node, f"{_blame(node)} looks both ways")
    if not outputs[node.name].timed:
        return Trace(path, node, f"'{node.recipe.name}' folds the whole sequence into one vector")
    return Trace(path)


def _blame(node: Node) -> str:
    """The block that looks both ways: the node's own, or the mixer in its slot."""
    assert node.recipe is not None
    mixer = node.recipe.knobs.get("mixer")
    if mixer is None or getattr(node.recipe.block, "causal", None) is False:
        return f"'{node.recipe.name}'"
    return f"'{mixer.name}'" + ("" if node.causal else " under 'causal: false'")


def _choice(node: Node) -> str:
    """The key to report: 'causal' where that made it look both ways, else the block's type."""
    assert node.recipe is not None
    if not node.causal:
        return "causal"
    return "mixer.type" if node.recipe.knobs.get("mixer") is not None else "type"
