"""Blocks that look at every step by itself: their mathematics is one function of a step's values."""

from __future__ import annotations

from torch import Tensor, nn

from composer.core.signals import Seq


class Pointwise(nn.Module):
    """A block that writes ``map``; its ``forward`` over whole sequences and its single steps follow.

    A block with other ports, from ids or to a vector, needs no more of this class than its habit: it writes ``map``
    and calls it from a ``forward`` of its own.
    """

    def map(self, values: Tensor) -> Tensor:
        """The outputs of steps (..., D), each for itself."""
        raise NotImplementedError

    def forward(self, x: Seq) -> Seq:
        return x.like(self.map(x.filled()))
