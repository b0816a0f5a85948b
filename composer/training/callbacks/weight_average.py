"""The exponential moving average (EMA) of the weights (Polyak and Juditsky, 1992), often better than the last ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from lightning import Callback, Trainer
from torch import Tensor, nn

from composer.runs import tensors


class WeightAverage(Callback):
    """Averages the weights after every step; the module is validated with the average.

    decay: the share of the average that every step keeps; smaller at first, so that the initial weights soon vanish
    """

    def __init__(self, decay: float) -> None:
        self.decay = decay
        self.named: dict[str, nn.Parameter] = {}
        self.means: dict[str, Tensor] = {}

    def begin(self, model: nn.Module) -> None:
        self.named = dict(model.named_parameters())
        self.means = self.means or {name: parameter.detach().clone() for name, parameter in self.named.items()}

    def on_fit_start(self, trainer: Trainer, module: Any) -> None:
        self.begin(module.graph)

    def on_train_batch_end(self, trainer: Trainer, module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self.update(module.progress.step)

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Add the current weights to the average, after ``step`` optimiser steps."""
        decay = min(self.decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(list(self.means.values()), list(self.named.values()), 1 - decay)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Replace the model's weights by their average inside the ``with`` block."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for name, parameter in self.named.items():
            parameter.data, self.means[name] = self.means[name], parameter.data

    def state_dict(self) -> dict[str, Any]:
        return {"means": tensors.all_whole(self.means)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if self.means:
            for name, mean in self.means.items():
                mean.copy_(tensors.share(state["means"][name], mean))
        else:
            self.means = dict(state["means"])
