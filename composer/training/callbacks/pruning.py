"""A search ends a trial early (pruning) that is worse than others were after as many steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from lightning import Callback, Trainer

#: Receives the step and the metrics of a validation, and returns whether to end the run early.
Prune = Callable[[int, Mapping[str, float]], bool]


class PruneCallback(Callback):
    """
    prune: called by the first process after every validation but that of an untrained model
    """

    def __init__(self, prune: Prune) -> None:
        self.prune = prune

    def on_validation_end(self, trainer: Trainer, module: Any) -> None:
        progress = module.progress
        if trainer.sanity_checking or not progress.step:
            return
        ended = trainer.is_global_zero and self.prune(progress.step, module.evaluation.values)
        votes = module.sum_over_processes(torch.tensor([float(ended)], dtype=torch.float64))
        progress.pruned = bool(votes.item() > 0) and not module.over
        trainer.should_stop = trainer.should_stop or progress.pruned
