"""Sort: the symbols of the source in ascending order."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.registry import register
from composer.data.synthetic.sequences import SymbolSequences


@register("data", "sort")
class Sort(SymbolSequences):
    def answer(self, values: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        padding = torch.arange(values.shape[1]) >= lengths[:, None]
        return values.masked_fill(padding, len(self.given)).sort(dim=1).values, lengths
