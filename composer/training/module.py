"""The LightningModule that takes an optimiser step of any graph. The heads compute the losses, the objective weights
them, and the module handles micro-batches, several processes, truncated BPTT and gradient clipping.

One optimiser step, in the order in which Lightning calls these functions:

1. ``MicroBatches`` gives the step's micro-batches, each with the weight of the whole batch;
2. ``Loop.on_train_batch_start`` sets the learning rate, and frozen nodes to evaluation mode;
3. ``TrainingModule.training_step`` computes the loss of each micro-batch, and Lightning its gradient;
4. ``TrainingModule.configure_gradient_clipping`` drops the gradients of frozen nodes and clips the sum of the others,
   and Lightning steps the optimiser;
5. ``Loop.on_train_batch_end`` logs, validates and saves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import lightning
import torch
import torch.distributed
from torch import Tensor, nn
from torch.optim import Optimizer

from composer.core.recording import collect_losses
from composer.core.signals import Signal
from composer.graph.counted_steps import CountedByHead, stepwise_heads
from composer.graph.graph import Graph
from composer.runs.tensors import whole
from composer.training.faults import gradient_not_finite, not_finite
from composer.training.freezing import Freezing
from composer.training.losses import LossTotals, auxiliary_loss, loss_sums
from composer.training.memory import shard_weights
from composer.training.micro_batches import MicroBatch, MicroBatches
from composer.training.scheduled_sampling import SampledInputs
from composer.training.truncated_bptt import CarriedStates


@dataclass
class CurrentStep:
    """The optimiser step that is being taken. A plain object, because an ``nn.Module`` sets attributes slowly.

    number: counted from 1
    stop: whether this process received a signal to stop
    stopping: whether any process had received one before this step
    weights: (heads + 1,), each head's weight in the batch of all processes, then the batch's rows
    norm: of the gradient, before clipping
    """

    number: int = 0
    stop: bool = False
    stopping: bool = False
    weights: Tensor | None = None
    norm: Tensor | None = None


class TrainingModule(lightning.LightningModule):
    """
    optimiser: makes the optimiser, after the weights have been moved to their device and sharded
    feed: makes the micro-batches of this process from its rank and the number of processes
    parts: micro-batches per batch (gradient accumulation)
    carry: whether each row's state is carried into the next batch without its gradient (truncated BPTT)
    clip: the largest global norm of the gradient; None for no clipping
    shard: whether to shard the weights over the processes (FSDP)
    freezing: the nodes that do not learn
    sampling: scheduled sampling; None for teacher forcing
    """

    def __init__(
        self,
        graph: Graph,
        optimiser: Callable[[Graph], Optimizer],
        feed: Callable[[int, int], MicroBatches],
        *,
        parts: int = 1,
        carry: bool = False,
        clip: float | None = None,
        shard: bool = False,
        freezing: Freezing | None = None,
        sampling: SampledInputs | None = None,
    ) -> None:
        super().__init__()
        self.graph = graph
        self.make_optimiser, self.make_feed = optimiser, feed
        self.parts, self.clip, self.shard, self.freezing = parts, clip, shard, freezing
        self.sampling = sampling
        self.carried = CarriedStates(parts) if carry else None
        self.current = CurrentStep()
        self.totals = LossTotals(graph)
        self.head_weights = graph.head_weights
        self.stepwise = stepwise_heads(graph.plan, dict(graph.nodes.items()))

    def __setattr__(self, name: str, value: Any) -> None:
        """Skip ``nn.Module``'s slow checks for the name of the current hook, which Lightning sets many times a step."""
        if name == "_current_fx_name":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    @property
    def world(self) -> int:
        return int(self.trainer.world_size)

    def configure_model(self) -> None:
        if self.shard:
            self.shard = False  # Lightning may call this hook twice
            shard_weights(self.graph, self.device_mesh["data_parallel"])  # type: ignore[index]

    def train_dataloader(self) -> MicroBatches:
        return self.make_feed(self.trainer.global_rank, self.world)

    def transfer_batch_to_device(self, batch: MicroBatch, device: torch.device, dataloader_idx: int) -> MicroBatch:
        return batch if device.type == "cpu" else batch.to(device, non_blocking=True)

    def configure_optimizers(self) -> Optimizer:
        return self.make_optimiser(self.graph)

    def training_step(self, part: MicroBatch, index: int) -> Tensor:
        if part.index == 0:
            self.current.weights = self.agree(part.weights)
        assert self.current.weights is not None
        weights, rows = self.current.weights[:-1], self.current.weights[-1]
        inputs = self.graph.read(part.batch.signals)  # teacher forcing: generated fields are shifted by one step
        if self.sampling is not None:
            inputs = self.sampling.mixed(self.graph, inputs, self.current.number, self.places(part))
        with collect_losses() as own:
            outputs, counted = self.outputs(inputs, part)
        means = loss_sums(self.graph, outputs, part.batch, counted) / weights  # (heads,)
        if means.device.type == "cpu" and not math.isfinite(float(means.detach().sum())):
            raise not_finite(self.graph, inputs, self.current.number)
        self.totals.add(means, own, rows)
        loss = (means * self.head_weights.to(means.device)).sum()
        if own:
            loss = loss + auxiliary_loss(own, rows)
        return loss * (self.world * self.parts)  # Lightning's accumulation and DDP divide by these numbers

    def outputs(self, inputs: dict[str, Signal], part: MicroBatch) -> tuple[dict[str, Signal], CountedByHead]:
        """Every head's output, and the steps that a head's output has, where the head left out steps without weight."""
        if self.carried is not None:
            return self.carried.forward(self.graph, inputs, part), {}
        counted = {head: part.counted[target] for head, target in self.stepwise.items() if target in part.counted}
        return self.graph(inputs, counted=counted)[0], counted

    def places(self, part: MicroBatch) -> Tensor:
        """(B,), the place of each row in the batch of all processes, which ``Batches.dealt`` has divided."""
        first = self.trainer.global_rank + part.index * self.world
        return first + torch.arange(part.batch.rows) * (self.world * self.parts)

    def agree(self, weights: Tensor) -> Tensor:
        """The weights of the whole batch, summed over the processes. The same all-reduce shares the request to stop."""
        current = self.current
        if self.world > 1:
            both = torch.cat([weights, weights.new_tensor([float(current.stop)])])
            torch.distributed.all_reduce(both)
            weights, current.stopping = both[:-1], bool(both[-1] > 0)
        else:
            current.stopping = current.stop
        return weights.clamp(min=1.0)

    def sum_over_processes(self, values: Tensor) -> Tensor:
        if self.world > 1:
            values = values.to(self.device)
            torch.distributed.all_reduce(values)
        return values

    def configure_gradient_clipping(self, optimizer: Optimizer, *_: Any, **__: Any) -> None:
        if self.freezing is not None:
            self.freezing.drop_gradients(self.current.number - 1)
        parameters = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        norm = nn.utils.get_total_norm([p.grad for p in parameters])
        self.current.norm = whole(norm)
        if self.current.norm.device.type == "cpu" and not math.isfinite(float(self.current.norm)):
            raise gradient_not_finite(self.graph, self.current.number)
        if self.clip is not None:
            nn.utils.clip_grads_with_norm_(parameters, self.clip, norm)
