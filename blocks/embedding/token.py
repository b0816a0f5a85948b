"""A learned vector for every token.

    y_t = E[x_t]

Bengio et al., 2003. Tied to another one it shares its matrix, so that a token means the same in both. No state.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from blocks.tied import shared_matrix
from composer.block import Positive, Probability, Reference
from composer.protocol import Step
from composer.registry import register
from composer.signals import Ids, Seq


@register("embedding", "token")
class Token(nn.Module):
    def __init__(
        self, vocabulary: int, *, dim: Positive, dropout: Probability = 0.0, tied: Reference | None = None
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        nn.init.normal_(self.embedding.weight, std=dim**-0.5)  # a tied head then starts with logits of unit size
        if tied is not None:
            self.embedding.weight = shared_matrix(tied, vocabulary, dim)
        self.dropout = nn.Dropout(dropout)

    @property
    def weight(self) -> Tensor:
        """(V, D), for a head or another embedding that is tied to it."""
        return self.embedding.weight

    def forward(self, x: Ids) -> Seq:
        return Seq(self.dropout(self.embedding(x.filled(0))), x.lengths)  # (B, T, D)

    def stepper(self) -> Step:
        weight = self.embedding.weight
        return lambda x: torch.embedding(weight, x)
