"""Odds first: the symbols at odd places (first, third, ...), then those at even places (Deletang et al., 2022)."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.registry import register
from composer.data.synthetic.sequences import SymbolSequences


@register("data", "odds_first")
class OddsFirst(SymbolSequences):
    def answer(self, values: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        steps, odds = torch.arange(values.shape[1]), (lengths[:, None] + 1) // 2
        places = torch.where(steps < odds, 2 * steps, 2 * (steps - odds) + 1)
        return values.gather(1, torch.where(steps < lengths[:, None], places, steps)), lengths
