"""One binary column for every token: sparse, nothing learned.

    y_t,j = 1 if x_t = j else 0

The output is as wide as the vocabulary. No state.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from composer import Ids, Seq, register


@register("embedding", "one_hot")
class OneHot(nn.Module):
    one: Tensor

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.register_buffer("one", torch.ones(()), persistent=False)  # holds the dtype and device of the output

    def map(self, values: Tensor) -> Tensor:
        tokens = torch.arange(self.vocabulary, device=values.device)  # (V,)
        return (values[..., None] == tokens).to(self.one.dtype)  # (..., V)

    def forward(self, x: Ids) -> Seq:
        return Seq(self.map(x.filled(0)), x.lengths)
