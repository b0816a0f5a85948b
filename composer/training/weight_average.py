"""The exponential moving average (EMA) of the weights (Polyak and Juditsky, 1992), often better than the last ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """
    decay: the share of the average that every step keeps; smaller at first, so that the initial weights soon vanish
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.named = dict(model.named_parameters())
        self.means = {name: parameter.detach().clone() for name, parameter in self.named.items()}

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

    def state_dict(self) -> dict[str, Tensor]:
        return self.means

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        for name, mean in self.means.items():
            mean.copy_(state[name])
