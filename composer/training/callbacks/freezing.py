"""Frozen nodes: they run in evaluation mode and their weights do not change, for all of a run or up to a step.

A node that is frozen for the whole run computes no gradient. A node that is unfrozen later does, and the gradient is
dropped before the optimiser's step: the processes of DDP agree on the weights with a gradient when they start, and
cannot add weights later.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lightning import Callback, Trainer
from torch.optim import Optimizer

from composer.graph.graph import Graph
from composer.training.optimisation.frozen_nodes import frozen_weights


class Freezing(Callback):
    """
    until: the number of steps for which each node stays frozen
    """

    def __init__(self, graph: Graph, until: Mapping[str, float]) -> None:
        self.graph, self.until = graph, dict(until)
        for parameter in frozen_weights(graph, until):
            parameter.requires_grad_(False)

    def on_train_batch_start(self, trainer: Trainer, module: Any, batch: Any, batch_idx: int) -> None:
        """Set the mode of every frozen node."""
        for name, end in self.until.items():
            self.graph.nodes[name].train(module.progress.step >= end)

    def on_before_optimizer_step(self, trainer: Trainer, module: Any, optimizer: Optimizer) -> None:
        """Drop the gradients of frozen weights, so that no optimiser changes them, also not by weight decay."""
        for name, end in self.until.items():
            if module.progress.step < end:
                for parameter in self.graph.nodes[name].parameters():
                    parameter.grad = None
