"""How often each token occurs in a sequence, weighted by how rare the token is in the training data.

    y_j = tf_j log(N / n_j),  tf_j = |{t : x_t = j}|, divided by T with ``relative``

for N sequences of the training data, of which n_j contain token j. Sparck Jones, 1972. No state.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from composer import Ids, Invalid, Vec, register

from ..counts import token_counts


@register("embedding", "tf_idf")
class TfIdf(nn.Module):
    idf: Tensor

    def __init__(self, vocabulary: int, idf: tuple[float, ...] | None, *, relative: bool = False) -> None:
        super().__init__()
        if idf is None:
            raise Invalid("from", "the data does not say how rare its tokens are (idf). Use bag_of_words instead.")
        self.vocabulary = vocabulary
        self.relative = relative
        self.register_buffer("idf", torch.tensor(idf))  # (V,)

    def forward(self, x: Ids) -> Vec:
        counts = token_counts(x, self.vocabulary, self.idf.dtype)  # (B, V)
        if self.relative:
            counts = counts / x.counts.clamp(min=1)[:, None]
        return Vec(counts * self.idf)
