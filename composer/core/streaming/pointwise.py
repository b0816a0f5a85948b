"""Pointwise (position-wise) blocks: one function of a step's values, applied to every step independently."""

from __future__ import annotations

from torch import Tensor, nn

from composer.core.signals import Seq


class Pointwise(nn.Module):
    """A subclass implements ``map``; ``forward`` over whole sequences and single steps are derived from ``map``.

    A block whose input is ids or whose output is a vector does not inherit this class: it implements ``map``, and
    calls ``map`` in a ``forward`` of its own.
    """

    def map(self, values: Tensor) -> Tensor:
        """The outputs of steps (..., D), each computed from its own step alone."""
        raise NotImplementedError

    def forward(self, x: Seq) -> Seq:
        return x.like(self.map(x.filled()))
