"""The LightningDataModule: the batches of training, validation and test, of which every process reads its share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import lightning
import torch

from composer.batching import DrawnBatches, drawn_batches
from composer.data.source import Split
from composer.objectives import Batch
from composer.training.micro_batches import StepBatches

if TYPE_CHECKING:
    from composer.training.run.plan import TrainingPlan


class DataModule(lightning.LightningDataModule):
    def __init__(self, plan: TrainingPlan) -> None:
        super().__init__()
        self.plan = plan
        self.allow_zero_length_dataloader_with_multiple_devices = True  # a process may have no row of a small split

    def setup(self, stage: str) -> None:
        """Data without a validation split is not validated: Lightning warns of an empty list of loaders."""
        if self.trainer is not None and not self.plan.objective.size("valid"):
            self.limit, self.trainer.limit_val_batches = self.trainer.limit_val_batches, 0

    def teardown(self, stage: str) -> None:
        if self.trainer is not None and not self.plan.objective.size("valid"):
            self.trainer.limit_val_batches = self.limit

    @property
    def rank_and_world(self) -> tuple[int, int]:
        return (self.trainer.global_rank, self.trainer.world_size) if self.trainer is not None else (0, 1)

    def train_dataloader(self) -> StepBatches:
        """The training rows, from where the module is among them: in a resumed run, or where it is fitted again."""
        loader, trainer = self.plan.loader(*self.rank_and_world), self.trainer
        progress = getattr(getattr(trainer, "lightning_module", None), "progress", None)
        if progress is not None:
            loader.batches.load_state_dict(progress.place)
        targets = [str(head.predicts) for head in self.plan.meta.heads]
        return StepBatches(loader, targets, repeats=getattr(trainer, "overfit_batches", 0) > 0)

    def val_dataloader(self) -> list[EvaluationBatches]:
        """The validation rows of a run."""
        training = self.plan.training
        return self.evaluated("valid", rows=training.validate_rows, decode_rows=training.decode_rows)

    def test_dataloader(self) -> list[EvaluationBatches]:
        return self.evaluated("test")

    def evaluated(self, split: Split, **rows: int | None) -> list[EvaluationBatches]:
        rank, world = self.rank_and_world
        if not self.plan.objective.size(split):
            return []
        return [EvaluationBatches(self.plan, split, dict(rows, rank=rank, world=world))]

    def transfer_batch_to_device(self, batch: Any, device: torch.device, dataloader_idx: int) -> Any:
        return batch if device.type == "cpu" else batch.to(device, non_blocking=True)


@dataclass(frozen=True, eq=False)
class EvaluationBatch:
    """
    decoded: whether the batch is decoded autoregressively, or evaluated with teacher forcing alone
    """

    batch: Batch
    decoded: bool

    def to(self, *args: Any, **kwargs: Any) -> Self:
        return replace(self, batch=self.batch.to(*args, **kwargs))


class EvaluationBatches:
    """The batches of a split that a process evaluates: those that are decoded, then the others."""

    def __init__(self, plan: TrainingPlan, split: Split, options: Mapping[str, Any]) -> None:
        self.plan, self.split, self.options = plan, split, options

    def drawn(self) -> tuple[DrawnBatches, DrawnBatches]:
        training = self.plan.training
        return drawn_batches(
            self.plan.objective, self.split, batch=training.batch, batch_tokens=training.batch_tokens,
            samples=training.samples, **self.options,
        )  # fmt: skip

    def __len__(self) -> int:
        """The number of batches, of which ``Trainer(limit_val_batches=0.1)`` takes a share."""
        if self.plan.training.batch_tokens is not None:
            raise TypeError("batches of so many tokens are not counted beforehand")
        return sum(map(len, self.drawn()))

    def __iter__(self) -> Iterator[EvaluationBatch]:
        decoded, forced = self.drawn()
        yield from (EvaluationBatch(batch, True) for batch in decoded)
        yield from (EvaluationBatch(batch, False) for batch in forced)
