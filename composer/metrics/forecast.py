"""Numbers that a graph generates from its own: every step's most likely value is read at the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from composer.graph import Graph
from composer.signals import Seq, Signal


@torch.no_grad()
def forecast(graph: Graph, inputs: Mapping[str, Signal], head: str, like: Seq) -> Seq:
    """As many steps as ``like`` has, for every row of what is given."""
    node = next(node for node in graph.heads if node.name == head)
    assert node.predicts is not None
    module: Any = graph.nodes[head]
    state = graph.start(inputs, like.batch)
    step = torch.zeros_like(like.values[:, :1])  # (B, 1, D)
    steps = []
    for _ in range(like.time):
        outputs, state = graph({node.predicts: Seq(step)}, state)
        step = module.predict(outputs[head]).values
        steps.append(step)
    return Seq(torch.cat(steps, dim=1), like.lengths)
