"""Which nodes are frozen until when, as the config says it (``init.freeze``, ``init.unfreeze_after``)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from torch import nn

from composer.core.problems import Report, did_you_mean, listed
from composer.graph.graph import Graph


def frozen_until(
    frozen: Sequence[str], later: int | Mapping[str, int] | None, meta: Graph, report: Report
) -> dict[str, float]:
    """The number of steps for which each frozen node stays frozen; infinite for the whole run.

    frozen: the config's ``init.freeze``
    later: the config's ``init.unfreeze_after``
    """
    steps = later if isinstance(later, Mapping) else {name: later for name in frozen if later is not None}
    for problem in (without_weights(name, meta) for name in frozen):
        if problem is not None:
            report.add("init.freeze", problem)
    for name in steps:
        if name not in frozen:
            hint = did_you_mean(name, frozen)
            report.add(
                f"init.unfreeze_after.{name}",
                f"'{name}' is not frozen.{hint}  (init.freeze: {listed(frozen) or 'none'})",
            )
    if later is not None and not frozen:
        report.add("init.unfreeze_after", "has no effect: init.freeze names no node.")
    until = {name: float(steps[name]) if name in steps else math.inf for name in frozen}
    weights = set(meta.parameters())
    if weights and not report.problems and frozen_weights(meta, until) >= weights:
        report.add("init.freeze", "freezes every weight of the model, so that nothing would learn. Leave a node out.")
    return until


def without_weights(name: str, meta: Graph) -> str | None:
    """What is wrong with the name of a node that should have weights; None where it has some."""
    known = [other for other, node in meta.nodes.items() if any(True for _ in node.parameters())]
    if name in known:
        return None
    what = "has no weights" if name in meta.nodes else "does not exist"
    return f"the node '{name}' {what}.{did_you_mean(name, known)}  (nodes with weights: {listed(known)})"


def frozen_weights(graph: Graph, until: Mapping[str, float]) -> set[nn.Parameter]:
    """The weights that are frozen for the whole run. Weights that nodes share are frozen if one of the nodes is."""
    frozen = [graph.nodes[name] for name, end in until.items() if name in graph.nodes and end == math.inf]
    return {parameter for node in frozen for parameter in node.parameters()}
