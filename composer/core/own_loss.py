"""Auxiliary losses that a block adds to those of the heads, such as the load balancing loss of mixture of experts.

    def forward(self, x: Seq) -> Seq:
        ...
        if self.training and self.balance:
            add_loss(self, "balance", value, weight=self.balance)

Training collects the auxiliary losses of a forward pass, minimises their weighted sum together with the heads' losses,
and logs the mean of each by its name. A block computes its loss in every training pass, even outside of
``collect_losses``: activation checkpointing recomputes the forward pass in the backward pass, where nothing is
collected, but the same operations have to run again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from torch import Tensor, nn


@dataclass(frozen=True)
class OwnLoss:
    """One auxiliary loss of one forward pass.

    name: the name in the logs, after the name of the module's node
    value: (B,), one number per row that depends on no other row, so that a batch may be computed in micro-batches
    weight: the factor of the mean over all rows in the total loss
    """

    module: nn.Module
    name: str
    value: Tensor
    weight: float


_collections: list[list[OwnLoss]] = []


@contextmanager
def collect_losses() -> Iterator[list[OwnLoss]]:
    """Collect the auxiliary losses that blocks add inside this ``with``."""
    found: list[OwnLoss] = []
    _collections.append(found)
    try:
        yield found
    finally:
        _collections.pop()


def add_loss(module: nn.Module, name: str, value: Tensor, weight: float) -> None:
    """Add a block's auxiliary loss, (B,), to the loss of this training step."""
    for found in _collections:
        found.append(OwnLoss(module, name, value, weight))
