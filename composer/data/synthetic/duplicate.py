"""Duplicate: the symbols of the source twice, one copy after the other (Deletang et al., 2022)."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.registry import register
from composer.data.synthetic.sequences import SymbolSequences


@register("data", "duplicate")
class Duplicate(SymbolSequences):
    def counts(self, lengths: Tensor) -> Tensor:
        return 2 * lengths

    def answer(self, values: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        steps = torch.arange(2 * values.shape[1])
        return values.gather(1, steps % lengths[:, None]), 2 * lengths
