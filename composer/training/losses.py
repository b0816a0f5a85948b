"""The losses of a training step: of the heads, and those that blocks add (auxiliary losses)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from composer.core.capabilities import declared
from composer.core.problems import UserError
from composer.core.recording import AuxiliaryLoss
from composer.core.signals import Signal
from composer.graph.counted_steps import ALL_STEPS, CountedByHead
from composer.graph.graph import Graph
from composer.graph.nodes import Node
from composer.objectives import Batch


def loss_sums(graph: Graph, outputs: Mapping[str, Signal], batch: Batch, counted: CountedByHead = ALL_STEPS) -> Tensor:
    """(heads,), each head's loss in nats, summed over the steps or rows with the objective's weights.

    counted: the steps that ``outputs`` has, for heads that left out the others
    """
    losses = graph.losses(outputs, batch.signals, counted)
    sums = []
    for head in graph.heads:
        loss = losses[head.name]
        weight = batch.weights.get(str(head.predicts))
        if weight is not None and weight.dim() > loss.dim() and declared(graph.nodes[head.name], "together"):
            _check_blanks_alone(graph, head)
        if weight is not None and head.name in counted:
            weight = weight[counted[head.name]][None]  # (1, N)
        sums.append((loss if weight is None or weight.shape != loss.shape else loss * weight).sum())
    return torch.stack(sums)


def _check_blanks_alone(graph: Graph, head: Node) -> None:
    """Refuse to weigh the steps of a head that has one loss per row. Such a head leaves out <blank> by itself."""
    if graph.plan.targets[str(head.predicts)].blank is None:
        raise UserError(
            f"the head '{head.name}' predicts all steps of a row together, so it cannot learn from some of its steps "
            "alone, as this objective asks. Use another head, e.g. head=categorical."
        )


def auxiliary_loss(own: Sequence[AuxiliaryLoss], rows: Tensor) -> Tensor:
    """The weighted sum of the auxiliary losses' means over all rows of the batch."""
    return torch.stack([found.weight * found.value.sum() for found in own]).sum() / rows


class LossTotals:
    """The losses of the steps since the last log, summed, for the logs alone."""

    def __init__(self, graph: Graph) -> None:
        self.names = [f"{head.name}/loss" for head in graph.heads]
        self.weights = graph.head_weights.double()
        self.node_of = {module: name for name, node in graph.nodes.items() for module in node.modules()}
        self.reset()

    def reset(self) -> None:
        self.heads = torch.zeros(len(self.names))  # (heads,)
        self.auxiliary: dict[str, Tensor] = {}  # by node and name

    def state_dict(self) -> dict[str, Any]:
        return {"heads": self.heads.cpu(), "auxiliary": {name: value.cpu() for name, value in self.auxiliary.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        device = self.heads.device
        self.heads = state["heads"].to(device)
        self.auxiliary = {name: value.to(device) for name, value in state["auxiliary"].items()}

    def add(self, means: Tensor, own: Sequence[AuxiliaryLoss], rows: Tensor) -> None:
        """Add a micro-batch's share of its batch's losses."""
        self.heads = self.heads.to(means.device) + means.detach()
        found: dict[str, list[Tensor]] = {}
        for loss in own:
            found.setdefault(f"{self.node_of[loss.module]}/{loss.name}", []).append(loss.value.detach().sum() / rows)
        for name, several in found.items():  # a node with several such losses, as a stack has, reports their mean
            mean = torch.stack(several).mean()
            self.auxiliary[name] = self.auxiliary.get(name, torch.zeros_like(mean)) + mean

    def take(self, steps: int, reduce: Callable[[Tensor], Tensor]) -> dict[str, float]:
        """The means over so many steps: the heads' weighted sum, each of several heads, and each auxiliary loss."""
        heads = reduce(self.heads.double()) / steps
        own = {name: float(reduce(value.double()) / steps) for name, value in self.auxiliary.items()}
        self.reset()
        each = {name: float(loss) for name, loss in zip(self.names, heads, strict=True)} if len(heads) > 1 else {}
        return {"loss": float((heads.cpu() * self.weights).sum()), **each, **own}
