"""Numbers that a graph generates from its own: every step's most likely value is read at the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from composer.graph import Graph
from composer.signals import Seq, Signal


@torch.no_grad()
def forecast(graph: Graph, inputs: Mapping[str, Signal], head: str, length: int) -> Seq:
    """So many steps for every row of what is given."""
    node = next(node for node in graph.heads if node.name == head)
    assert node.predicts is not None
    module: Any = graph.nodes[head]
    batch = next(iter(inputs.values())).batch
    state = graph.start(inputs, batch)
    step = torch.zeros(batch, 1, graph.plan.inputs[node.predicts].dim or 0, device=graph.device)
    steps = []
    for _ in range(length):
        outputs, state = graph({node.predicts: Seq(step)}, state)
        step = module.predict(outputs[head]).values  # (B, 1, D)
        steps.append(step)
    return Seq(torch.cat(steps, dim=1))
