"""Texts that a language model generates without a prompt, as samples to read at every validation."""

from __future__ import annotations

from typing import Any

import torch

from composer.core.capabilities import offers
from composer.core.signals import Ids
from composer.decoding import Settings, generate
from composer.graph.graph import Graph, evaluating
from composer.objectives import Objective

#: The largest number of tokens of a sample.
LENGTH = 100


def written(graph: Graph, objective: Objective, count: int) -> list[dict[str, Any]]:
    """Texts sampled from a language model, with a fixed seed. A graph with given inputs yields none."""
    plan = graph.plan
    if count == 0 or plan.inputs.keys() != plan.generated:
        return []
    found = []
    for head in graph.heads:
        name = str(head.predicts)
        if plan.targets[name].kind != Ids.kind or not offers(graph.nodes[head.name], "log_probabilities"):
            continue
        longest = objective.lengths("train", torch.arange(1)).get(name)
        length = LENGTH if longest is None else min(LENGTH, int(longest.max()))
        with evaluating(graph):
            result = generate(graph, {}, Settings(search="sample", length=length), head=head.name, batch=min(count, 3))
        label = {"head": head.name} if len(graph.heads) > 1 else {}
        found += [{**label, "found": text, "right": None} for text in objective.show(name, result.tokens)]
    return found
