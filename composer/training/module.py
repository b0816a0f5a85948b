"""The LightningModule that takes an optimiser step of any graph. The heads compute the losses, the objective weights
them, and the module handles micro-batches, several processes, truncated BPTT and gradient clipping.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import lightning
import torch
import torch.distributed
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils import _pytree as pytree

from composer.core.own_loss import OwnLoss, collect_losses
from composer.core.problems import Invalid
from composer.core.signals import Signal, State
from composer.graph.graph import Graph
from composer.objectives import Batch
from composer.training.faults import gradient_not_finite, not_finite
from composer.training.memory import shard_weights
from composer.training.micro_batches import MicroBatch, MicroBatches
from composer.training.state import whole

#: Attributes that change at every step and hold neither parameters nor modules.
PLAIN = frozenset(("_current_fx_name", "losses", "norm", "number", "own", "stop", "stopping", "whole"))


class TrainingModule(lightning.LightningModule):
    """
    optimiser: makes the optimiser, after the weights have been moved to their device and sharded
    feed: makes the micro-batches of this process from its rank and the number of processes
    parts: micro-batches per batch (gradient accumulation)
    carry: whether each row's state is carried into the next batch without its gradient (truncated BPTT)
    clip: the largest global norm of the gradient; None for no clipping
    shard: whether to shard the weights over the processes (FSDP)
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
    ) -> None:
        super().__init__()
        self.graph = graph
        self.make_optimiser, self.make_feed = optimiser, feed
        self.parts, self.carry, self.clip, self.shard = parts, carry, clip, shard
        self.carried: list[dict[str, Any] | None] = [None] * parts
        self.stop = False  # whether this process received a signal to stop
        self.stopping = False  # whether any process had received one before this step
        self.number = 0  # of the current step, counted from 1
        self.norm: Tensor | None = None  # of the last gradient
        self.whole: Tensor | None = None  # (heads + 1,), each head's weight in the batch of all processes, and its rows
        self.losses = torch.zeros(len(graph.heads))  # (heads,), summed over the steps since the last log
        self.own: dict[str, Tensor] = {}  # the blocks' own losses, by node and name, summed in the same way

    def __setattr__(self, name: str, value: Any) -> None:
        """Skip ``nn.Module``'s slow checks for the attributes that Lightning and the loop set many times a step."""
        if name in PLAIN:
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
            self.whole = self.agree(part.weights)
        assert self.whole is not None
        inputs = self.read(part)
        with collect_losses() as own:
            outputs = self.outputs(inputs, part)
        weights, rows = self.whole[:-1], self.whole[-1]
        means = loss_sums(self.graph, outputs, part.batch) / weights
        if means.device.type == "cpu" and not math.isfinite(float(means.detach().sum())):
            raise not_finite(self.graph, inputs, self.number)
        self.losses = self.losses.to(means.device) + means.detach()
        loss = means.sum() + self.weigh_own(own, rows) if own else means.sum()
        return loss * (self.world * self.parts)  # Lightning's accumulation and DDP divide by these numbers

    def weigh_own(self, own: list[OwnLoss], rows: Tensor) -> Tensor:
        """The blocks' own (auxiliary) losses: the weighted sum of their means over all rows of the batch."""
        means: dict[str, list[Tensor]] = {}
        for found in own:
            means.setdefault(f"{self.node_of[found.module]}/{found.name}", []).append(found.value.detach().sum() / rows)
        for name, several in means.items():  # a node with several such losses, as a stack has, reports their mean
            mean = torch.stack(several).mean()
            self.own[name] = self.own.get(name, torch.zeros_like(mean)) + mean
        return torch.stack([found.weight * found.value.sum() for found in own]).sum() / rows

    @cached_property
    def node_of(self) -> dict[nn.Module, str]:
        """For every module, the name of the node that contains it."""
        return {module: name for name, node in self.graph.nodes.items() for module in node.modules()}

    def agree(self, weights: Tensor) -> Tensor:
        """The weights of the whole batch, summed over the processes. The same all-reduce shares the request to stop."""
        if self.world > 1:
            both = torch.cat([weights, weights.new_tensor([float(self.stop)])])
            torch.distributed.all_reduce(both)
            weights, self.stopping = both[:-1], bool(both[-1] > 0)
        else:
            self.stopping = self.stop
        return weights.clamp(min=1.0)

    def sum_over_processes(self, values: Tensor) -> Tensor:
        values = values.to(self.device)
        torch.distributed.all_reduce(values)
        return values

    def read(self, part: MicroBatch) -> dict[str, Signal]:
        """The graph's inputs: the given fields, and the generated fields shifted by one step (teacher forcing).

        With a carried state, the first input of a generated field is the last step of the previous batch.
        """
        inputs = self.graph.read(part.batch.signals)
        kept = self.carried[part.index]
        if kept is not None and kept["epoch"] == part.epoch:
            for name, last in kept["last"].items():
                inputs[name].values[:, :1] = last
        return inputs

    def outputs(self, inputs: dict[str, Signal], part: MicroBatch) -> dict[str, Signal]:
        if not self.carry:
            return self.graph(inputs)[0]
        kept = self.carried[part.index]
        goes_on = kept is not None and kept["epoch"] == part.epoch
        state = kept["state"] if kept is not None and goes_on else self.graph.start({}, part.batch.rows)
        outputs, state = self.graph(inputs, state)
        last = {name: part.batch.signals[name].values[:, -1:] for name in inputs}
        self.carried[part.index] = {"epoch": part.epoch, "state": cut_gradient(state), "last": last}
        return outputs

    def configure_gradient_clipping(self, optimizer: Optimizer, *_: Any, **__: Any) -> None:
        parameters = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        norm = nn.utils.get_total_norm([p.grad for p in parameters])
        self.norm = whole(norm)
        if self.norm.device.type == "cpu" and not math.isfinite(float(self.norm)):
            raise gradient_not_finite(self.graph, self.number)
        if self.clip is not None:
            nn.utils.clip_grads_with_norm_(parameters, self.clip, norm)


def loss_sums(graph: Graph, outputs: dict[str, Signal], batch: Batch) -> Tensor:
    """(heads,), each head's loss in nats, summed over the steps or rows with the objective's weights."""
    losses = graph.losses(outputs, batch.signals)
    sums = []
    for head in graph.heads:
        loss = losses[head.name]
        weight = batch.weights.get(str(head.predicts))
        sums.append((loss if weight is None or weight.shape != loss.shape else loss * weight).sum())
    return torch.stack(sums)


def cut_gradient(state: State) -> State:
    return pytree.tree_map(lambda leaf: leaf.detach(), state)


def check_carry(graph: Graph) -> None:
    """Raise an error if truncated BPTT is impossible.

    The state has to have a fixed size, and the model may read only the fields that it generates.
    """
    from composer.graph.describe import count_state

    given = list(graph.plan.given)
    if given or not graph.plan.generated:
        what = f"this one reads {', '.join(given)}, too" if given else "this one generates nothing"
        raise Invalid("carry", f"carries the state of a model that reads nothing but what it generates; {what}.")
    short, long = count_state(graph, 64), count_state(graph, 128)
    growing = [name for name in short if long[name] != short[name]]
    if growing:
        raise Invalid(
            "carry",
            f"the state of {', '.join(growing)} grows with every step, so that it cannot be carried on and on. "
            "Use a recurrent mixer or a sliding window.",
        )
