"""Parity: whether the number of ones in a sequence of bits is odd. One bit of hidden state solves the task."""

from __future__ import annotations

from torch import Tensor

from composer.core.registry import register
from composer.data.synthetic.tracking import Tracking


@register("data", "parity")
class Parity(Tracking):
    symbols = ("0", "1")
    states = ("even", "odd")
    drawn = "bits"

    def track(self, values: Tensor) -> Tensor:
        return values.cumsum(1) % 2
