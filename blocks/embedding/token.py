"""A learned vector for every token.

    y_t = sqrt(D) E[x_t]

Bengio et al., 2003. The matrix E is drawn from N(0, 1/D), and the factor sqrt(D) brings its rows to unit size beside
the positions that are added to them (Vaswani et al., 2017, section 3.4); a head that is tied to E then starts with
logits of unit size. Adam's steps are as long for every weight, so the factor also lets a token's vector change as
quickly as the rest of the model. An embedding tied to another one shares its matrix. No state.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from blocks.tied import shared_matrix
from composer import Ids, Positive, Probability, Reference, Seq, register


@register("embedding", "token")
class Token(nn.Module):
    def __init__(
        self, vocabulary: int, *, dim: Positive, dropout: Probability = 0.0, tied: Reference | None = None
    ) -> None:
        super().__init__()
        self.scale = dim**0.5
        self.embedding = nn.Embedding(vocabulary, dim)
        nn.init.normal_(self.embedding.weight, std=1 / self.scale)
        if tied is not None:
            self.embedding.weight = shared_matrix(tied, vocabulary, dim)
        self.dropout = nn.Dropout(dropout)

    @property
    def weight(self) -> Tensor:
        """(V, D), for a head or another embedding that is tied to it."""
        return self.embedding.weight

    def map(self, values: Tensor) -> Tensor:
        return self.dropout(torch.embedding(self.embedding.weight, values) * self.scale)  # (..., D)

    def forward(self, x: Ids) -> Seq:
        return Seq(self.map(x.filled(0)), x.lengths)
