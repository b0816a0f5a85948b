"""Word dropout: training reads a rare word as an unknown one now and then, so that <unk> is learned.

A word w that training has count(w) times becomes unknown with the probability a / (a + count(w)) (Kiperwasser and
Goldberg, 2016, a = 0.25; after Iyyer et al., 2015).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from composer.core.signals import Ids


@dataclass(frozen=True, eq=False)
class WordDropout:
    """
    chance: (V,) the probability that training reads a token as an unknown one
    stand_in: (V,) the token that is read instead
    """

    chance: Tensor
    stand_in: Tensor

    @classmethod
    def of(
        cls, strength: float, counts: Sequence[int], stand_in: Sequence[int], kept: Collection[int]
    ) -> WordDropout:  # fmt: skip
        """For tokens with these counts. ``strength`` is the formula's a; the ids in ``kept`` are never replaced."""
        chance = strength / (strength + torch.tensor(counts, dtype=torch.float64)).clamp(min=1e-9)
        chance[list(kept)] = 0.0
        return cls(chance, torch.tensor(stand_in))

    def apply(self, signal: Ids, draws: Tensor) -> Ids:
        """The signal with some tokens replaced. ``draws`` are uniform numbers, (B, T)."""
        values = signal.values
        return replace(signal, values=torch.where(draws < self.chance[values], self.stand_in[values], values))
