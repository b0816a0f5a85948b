"""A learned vector for every token.

    y_t = sqrt(D) E[x_t]

Bengio et al., 2003. The matrix E is drawn from N(0, 1/D), and the factor sqrt(D) scales its rows to unit size,
about that of the positions that are added to them (Vaswani et al., 2017, section 3.4). A head with weights tied to E
then starts with logits of unit size. Adam's updates have the same size for every weight, so the factor also lets the
token vectors change as quickly as the rest of the model. With ``tied``, the embedding shares the matrix of another
embedding. No state.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from composer import Ids, Positive, Probability, Reference, Seq, register

from ..tied import shared_matrix


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
        """(V, D), for weight tying with a head or another embedding."""
        return self.embedding.weight

    def map(self, values: Tensor) -> Tensor:
        return self.dropout(torch.embedding(self.embedding.weight, values) * self.scale)  # (..., D)

    def forward(self, x: Ids) -> Seq:
        return Seq(self.map(x.filled(0)), x.lengths)
