"""Losses that a block adds to those of the heads, such as one that evens out the load of experts.

    def forward(self, x: Seq) -> Seq:
        ...
        if self.training and self.balance:
            add_loss(self, "balance", value, weight=self.balance)

Training collects what the blocks add during a forward pass, minimises the weighted sum beside the heads' losses, and
logs every mean by its name. A block computes its loss in every training pass, whether or not anybody collects it: where
activations are recomputed in the backward pass, the same operations have to run again, and nobody collects there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from torch import Tensor, nn


@dataclass(frozen=True)
class OwnLoss:
    """
    name: what it is logged as, after its node's name
    value: (B,), a number a row that depends on no other row, so that a batch may be cut into parts
    weight: what the mean over all rows is multiplied by in the loss
    """

    module: nn.Module
    name: str
    value: Tensor
    weight: float


_collections: list[list[OwnLoss]] = []


@contextmanager
def collect_losses() -> Iterator[list[OwnLoss]]:
    """Collect what blocks add while the block of this ``with`` runs."""
    found: list[OwnLoss] = []
    _collections.append(found)
    try:
        yield found
    finally:
        _collections.pop()


def add_loss(module: nn.Module, name: str, value: Tensor, weight: float) -> None:
    """Add a block's own loss, (B,), to the loss of this training step."""
    for found in _collections:
        found.append(OwnLoss(module, name, value, weight))
