"""The same symbols, last one first."""

from __future__ import annotations

from torch import Tensor

from composer.data.source import source
from composer.data.synthetic.sequences import Sequences, backwards


@source("reverse")
class Reverse(Sequences):
    def answer(self, values: Tensor, lengths: Tensor) -> Tensor:
        return backwards(values, lengths)
