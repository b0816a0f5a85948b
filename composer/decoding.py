"""Generating a sequence step by step, from nothing but the graph's plan."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from composer.graph import Graph
from composer.signals import Ids, Signal


def greedy(graph: Graph, inputs: Mapping[str, Signal], head: str, length: int, batch: int = 1) -> Ids:
    """The most likely token at every step, up to <eos> or ``length`` steps. What was read is never read again.

    There are as many rows as the inputs have; ``batch`` where the graph reads nothing but what it generates.
    """
    node = next(node for node in graph.heads if node.name == head)
    assert node.predicts is not None
    field = graph.plan.inputs[node.predicts]
    batch = next((signal.batch for signal in inputs.values()), batch)
    with torch.inference_mode():
        state, step = graph.start(inputs, batch, head), graph.stepper(head)
        token = torch.full((batch,), field.start or 0, device=graph.device)
        done = torch.zeros(batch, dtype=torch.bool, device=graph.device)
        lengths = torch.full((batch,), 0 if field.stop is not None else length, device=graph.device)
        tokens = []
        for _ in range(length):
            values, state = step({node.predicts: token}, state)
            token = values[head].argmax(-1)  # (B,)
            tokens.append(token)
            if field.stop is not None:
                lengths += ~done
                done |= token == field.stop
                if bool(done.all()):
                    break
        written = torch.stack(tokens, dim=1)
    return Ids(written.clone(), lengths.clone())
