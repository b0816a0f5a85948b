"""Word dropout: in training, rare words are sometimes replaced by <unk>, so that the model learns to use <unk>.

A word w that occurs count(w) times in the training split is replaced with the probability a / (a + count(w))
(Kiperwasser and Goldberg, 2016, a = 0.25; after Iyyer et al., 2015).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from composer.core.signals import Ids


@dataclass(frozen=True, eq=False)
class WordDropout:
    """The word dropout of one field.

    chance: (V,), the probability that a token is replaced in training
    stand_in: (V,), the token that replaces it, such as <unk>
    """

    chance: Tensor
    stand_in: Tensor

    @classmethod
    def of(
        cls, strength: float, counts: Sequence[int], stand_in: Sequence[int], kept: Collection[int]
    ) -> WordDropout:  # fmt: skip
        """Word dropout for tokens with these counts.

        strength: a in the formula
        kept: the ids that are never replaced
        """
        chance = strength / (strength + torch.tensor(counts, dtype=torch.float64)).clamp(min=1e-9)
        chance[list(kept)] = 0.0
        return cls(chance, torch.tensor(stand_in))

    def apply(self, signal: Ids, draws: Tensor) -> Ids:
        """The signal with some tokens replaced. ``draws`` are uniform numbers, (B, T)."""
        values = signal.values
        return replace(signal, values=torch.where(draws < self.chance[values], self.stand_in[values], values))
