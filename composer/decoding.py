"""Generating a sequence step by step, from nothing but the graph's plan."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from composer.graph import Graph
from composer.signals import Ids, Signal


@torch.no_grad()
def greedy(graph: Graph, inputs: Mapping[str, Signal], head: str, length: int, batch: int = 1) -> Ids:
    """The most likely token at every step, up to <eos> or ``length`` steps. What was read is never read again.

    There are as many rows as the inputs have; ``batch`` where the graph reads nothing but what it generates.
    """
    node = next(node for node in graph.heads if node.name == head)
    assert node.predicts is not None
    field = graph.plan.inputs[node.predicts]
    batch = next((signal.batch for signal in inputs.values()), batch)
    device = graph.device
    state = graph.start(inputs, batch)
    token = torch.full((batch, 1), field.start or 0, device=device)
    done = torch.zeros(batch, dtype=torch.bool, device=device)
    lengths = torch.zeros(batch, dtype=torch.long, device=device)
    tokens = []
    for _ in range(length):
        outputs, state = graph({node.predicts: Ids(token)}, state)
        token = outputs[head].values.argmax(-1)  # (B, 1)
        tokens.append(token)
        lengths += ~done
        done |= token[:, 0] == field.stop
        if bool(done.all()):
            break
    return Ids(torch.cat(tokens, dim=1), lengths)
