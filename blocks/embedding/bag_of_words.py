"""How often each token occurs in a sequence, regardless of the order.

    y_j = |{t : x_t = j}|

The output is as wide as the vocabulary. With ``binary``, it is 1 for every token that occurs. Harris, 1954. No state.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from composer import Ids, Vec, register

from ..counts import token_counts


@register("embedding", "bag_of_words")
class BagOfWords(nn.Module):
    one: Tensor

    def __init__(self, vocabulary: int, *, binary: bool = False) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.binary = binary
        self.register_buffer("one", torch.ones(()), persistent=False)  # holds the dtype and device of the counts

    def forward(self, x: Ids) -> Vec:
        counts = token_counts(x, self.vocabulary, self.one.dtype)  # (B, V)
        return Vec(counts.clamp(max=1) if self.binary else counts)
