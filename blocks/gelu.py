"""GELU in single steps. For a few numbers, torch's own takes five times as long: it starts a kernel of oneDNN."""

from __future__ import annotations

import torch
from torch import Tensor

#: The factor by which a caller scales the weights before and after ``scaled_gelu``.
SCALE = 0.5**0.5


def scaled_gelu(w: Tensor) -> Tensor:
    """w (1 + erf(w)): gelu(v) = SCALE * scaled_gelu(SCALE * v).

    Callers fold both factors into the weights around the GELU, which saves two operations.
    """
    return torch.addcmul(w, w, torch.erf(w))
