"""Our graph and a peer's model behind one interface: a loss to train by, and what is measured of it.

Both read ``graph.read(batch.signals)`` and are measured by the same metrics, so that a difference in a figure is one of
the models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.learning.task import Ours, Peer, PeerModel
from composer.core.signals import Ids, Label, Seq, Signal
from composer.metrics.head_batches import SPARE, HeadBatches, predictions
from composer.metrics.metric import HeadBatch
from composer.objectives import Batch
from composer.training.losses import loss_sums
from composer.training.micro_batches import weigh
from composer.training.run.plan import TrainingPlan

TARGET = "target"


class Learner(Protocol):
    """
    rate: the usual learning rate
    optimiser, schedule: sections of a config
    """

    model: nn.Module
    rate: float
    optimiser: Mapping[str, Any]
    schedule: Mapping[str, Any]

    def loss(self, batch: Batch) -> Tensor:
        """The mean over what counts of the target."""
        ...

    def views(self, batch: Batch, *, decode: bool) -> dict[str, HeadBatches]:
        """The batch as the metrics read it, by the name of our head; whether the target is also generated in full."""
        ...


def learner_for(arm: Ours | Peer, plan: TrainingPlan, seed: int) -> Learner:
    return PeerLearner(arm, plan, seed) if isinstance(arm, Peer) else OurLearner(plan, seed)


class OurLearner:
    """The compiled graph, as ``train.py`` builds and trains it."""

    def __init__(self, plan: TrainingPlan, seed: int) -> None:
        values = plan.composed.values
        self.plan, self.model = plan, plan.meta.materialise(seed)
        self.optimiser, self.schedule = values["optimiser"], values["schedule"]
        self.rate = float(self.optimiser["learning_rate"])

    def loss(self, batch: Batch) -> Tensor:
        outputs, _ = self.model(self.model.read(batch.signals))
        weights = torch.tensor([weigh(batch, str(head.predicts)) for head in self.model.heads])
        return (loss_sums(self.model, outputs, batch) / weights.clamp(min=1.0)).sum()

    def views(self, batch: Batch, *, decode: bool) -> dict[str, HeadBatches]:
        return predictions(self.model, self.plan.objective, batch, decoded=decode)


class PeerLearner:
    """A peer: cross-entropy of tokens, tags and classes, squared error of numbers."""

    def __init__(self, peer: Peer, plan: TrainingPlan, seed: int) -> None:
        torch.manual_seed(seed)
        self.plan = plan
        self.model: PeerModel = peer.build(plan)
        self.rate, self.optimiser, self.schedule = peer.rate, peer.optimiser, peer.schedule
        (self.head,) = plan.meta.heads
        self.generates = TARGET in plan.meta.plan.generated and bool(plan.meta.plan.given)

    def loss(self, batch: Batch) -> Tensor:
        losses = step_losses(self.model(self.plan.meta.read(batch.signals)), batch.signals[TARGET])
        return (losses * batch.weight(TARGET)).sum() / max(1.0, weigh(batch, TARGET))

    def views(self, batch: Batch, *, decode: bool) -> dict[str, HeadBatches]:
        inputs, target = self.plan.meta.read(batch.signals), batch.signals[TARGET]
        output = self.model(inputs)
        seen = HeadBatch(
            field=self.plan.meta.plan.targets[TARGET],
            losses=step_losses(output, target).double(),
            weight=batch.weight(TARGET).double(),
            target=target,
            found=predicted(output, target),
            given={name: batch.signals[name] for name in self.plan.meta.plan.given},
            show=partial(self.plan.objective.show, TARGET),
        )
        whole = seen
        if self.generates and isinstance(target, Ids):
            whole = seen.first(0)
            if decode:
                limits = target.counts + SPARE  # of every row, as for our graphs
                found = self.model.decode(inputs, int(limits.max()))
                whole = replace(seen, found=Ids(found.values, found.counts.minimum(limits)))
        return {self.head.name: HeadBatches(seen, whole)}


def step_losses(output: Tensor, target: Signal) -> Tensor:
    """(B, T) or (B,), in nats; for numbers the squared error, a mean over the channels."""
    if isinstance(target, Seq):
        return (output - target.filled()).square().mean(-1)
    values = target.filled(0) if isinstance(target, Ids) else target.values
    return F.cross_entropy(output.flatten(0, -2), values.flatten(), reduction="none").view(values.shape)


def predicted(output: Tensor, target: Signal) -> Signal:
    if isinstance(target, Seq):
        return Seq(output, target.lengths)
    if isinstance(target, Ids):
        return Ids(output.argmax(-1), target.lengths)
    return Label(output.argmax(-1))
