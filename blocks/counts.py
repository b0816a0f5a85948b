"""Token counts: how often each token of the vocabulary occurs in a row, for bag_of_words and tf_idf."""

from __future__ import annotations

import torch
from torch import Tensor

from composer import Ids


def token_counts(x: Ids, vocabulary: int, dtype: torch.dtype) -> Tensor:
    """(B, V): the number of real steps of each row at which each token occurs."""
    ids = x.filled(0)
    real = torch.ones_like(ids, dtype=dtype) if x.mask is None else x.mask.to(dtype)
    return real.new_zeros(x.batch, vocabulary).scatter_add(1, ids, real)
