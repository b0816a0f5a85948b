"""A mean over time with larger weights for rare tokens: static attention.

    y = sum_t w_t x_t / sum_t w_t,  w_t = log(N / n_j) for the token j at step t

A token that occurs tf times is counted tf times, so its total weight is tf x idf. Of the N sequences of the training
data, n_j contain token j. A row whose weights are all zero gives zero. Sparck Jones, 1972. No state.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from composer import Ids, Invalid, Seq, Vec, register, show


@register("pool", "tf_idf")
class TfIdf(nn.Module):
    idf: Tensor

    def __init__(self, ids_idf: tuple[float, ...] | None) -> None:
        super().__init__()
        if ids_idf is None:
            raise Invalid("from", "the data does not say how rare its tokens are (idf). Use the pool mean instead.")
        self.register_buffer("idf", torch.tensor(ids_idf))  # (V,)

    def forward(self, x: Seq, ids: Ids) -> Vec:
        if ids.time != x.time:
            raise Invalid("from", "the ids run along another sequence than x. Give the ones that x was made of.")
        weights = self.idf[ids.filled(0)]  # (B, T)
        if ids.mask is not None:
            weights = weights.masked_fill(~ids.mask, 0.0)
        weights = weights / weights.sum(1, keepdim=True).clamp(min=torch.finfo(weights.dtype).tiny)
        show(self, lambda: weights[:, None, None])  # (B, 1, 1, T)
        values = x.filled()
        return Vec((weights[:, None].to(values.dtype) @ values).squeeze(1))  # (B, D)
