"""Sort: the symbols of the source in ascending order."""

from __future__ import annotations

from torch import Tensor

from composer.core.registry import register
from composer.data.synthetic.sequences import SymbolSequences, in_order


@register("data", "sort")
class Sort(SymbolSequences):
    def answer(self, values: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        return in_order(values, lengths), lengths
