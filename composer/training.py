"""One LightningModule drives any graph: the heads own their losses, the graph says what it reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import lightning
import torch
from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor
from torch.utils.data import DataLoader, Sampler

from composer.block import Positive, Scale
from composer.data import Source
from composer.graph import Graph
from composer.signals import Signal


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The config's section ``training``."""

    steps: Positive = 600
    batch: Positive = 64
    learning_rate: Scale = 0.002


class Training(lightning.LightningModule):
    def __init__(self, graph: Graph, learning_rate: float) -> None:
        super().__init__()
        self.graph = graph
        self.learning_rate = learning_rate

    def training_step(self, batch: dict[str, Signal], index: int) -> Tensor:
        loss = mean_loss(self.graph, batch)
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        steps = int(self.trainer.estimated_stepping_batches)
        optimizer = torch.optim.AdamW(self.parameters(), lr=self.learning_rate, fused=True)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, self.learning_rate, total_steps=steps, pct_start=min(0.1, 100 / steps)
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def mean_loss(graph: Graph, batch: dict[str, Signal]) -> Tensor:
    """The sum over the heads of their mean loss a real step or row, in nats."""
    given = {name: batch[name] for name in graph.plan.inputs if name not in graph.plan.generated}
    outputs, _ = graph(given | graph.shifted(batch))
    losses = graph.losses(outputs, batch)
    total = torch.zeros((), device=graph.device)
    for head in graph.heads:
        assert head.predicts is not None
        target = batch[head.predicts]
        count = target.counts.sum() if hasattr(target, "counts") else target.batch
        total = total + losses[head.name].sum() / count
    return total


class RandomRows(Sampler[list[int]]):
    """Batches of row numbers, shuffled anew every pass."""

    def __init__(self, size: int, batch: int, seed: int) -> None:
        self.size, self.rows, self.generator = size, batch, torch.Generator().manual_seed(seed)

    def __len__(self) -> int:
        return max(1, self.size // self.rows)

    def __iter__(self) -> Iterator[list[int]]:
        order = torch.randperm(self.size, generator=self.generator).tolist()
        for index in range(len(self)):
            yield order[index * self.rows : (index + 1) * self.rows]


def batches(source: Source, batch: int, seed: int) -> DataLoader:
    """The training split of a source, for Lightning."""

    class Rows(torch.utils.data.Dataset):
        def __getitem__(self, rows: list[int]) -> dict[str, Signal]:
            return source.batch("train", rows)

    return DataLoader(Rows(), sampler=RandomRows(source.size("train"), batch, seed), batch_size=None)
