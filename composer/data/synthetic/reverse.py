"""Reverse: the symbols of the source in reverse order."""

from __future__ import annotations

from torch import Tensor

from composer.core.registry import register
from composer.core.signals import Ids
from composer.data.synthetic.sequences import SymbolSequences


@register("data", "reverse")
class Reverse(SymbolSequences):
    def answer(self, values: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        return Ids(values, lengths).reversed().values, lengths
