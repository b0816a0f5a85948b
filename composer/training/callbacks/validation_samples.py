"""Texts that a language model generates without a prompt, as samples to read at every validation."""

from __future__ import annotations

from typing import Any

import torch
from lightning import Callback, Trainer

from composer.core.capabilities import offers
from composer.core.signals import Ids
from composer.decoding import DecodeOptions, Settings, decode
from composer.graph.graph import Graph, evaluating
from composer.objectives import Batch, Objective


class ValidationSamples(Callback):
    """Adds generated texts to the samples of a validation, where the model reads nothing that could be shown."""

    def on_validation_epoch_end(self, trainer: Trainer, module: Any) -> None:
        evaluator = module.evaluator
        evaluator.shown = evaluator.shown or written(module.graph, evaluator.objective, module.settings.samples)


#: The largest number of tokens of a sample.
LENGTH = 100


def written(graph: Graph, objective: Objective, count: int) -> list[dict[str, Any]]:
    """Texts sampled from a language model, with a fixed seed. A graph with given inputs yields none."""
    plan = graph.plan
    if count == 0 or plan.inputs.keys() != plan.generated:
        return []
    found = []
    for head in graph.heads:
        name, module = str(head.predicts), graph.nodes[head.name]
        if plan.targets[name].kind != Ids.kind or not (offers(module, "log_probabilities") or offers(module, "decode")):
            continue
        longest = objective.lengths("train", torch.arange(1)).get(name)
        length = LENGTH if longest is None else min(LENGTH, int(longest.max()))
        options = DecodeOptions(search=Settings(search="sample"), length=length, batch=min(count, 3))
        with evaluating(graph):
            tokens = decode(graph, head, Batch({}), options).found
        label = {"head": head.name} if len(graph.heads) > 1 else {}
        found += [{**label, "found": text, "right": None} for text in objective.show(name, tokens)]
    return found
