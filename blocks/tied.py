"""Weight tying: sharing the matrix of a token embedding with a head or with another embedding."""

from __future__ import annotations

from typing import Any

from torch import nn

from composer import Invalid
from composer.core.capabilities import offers


def shared_matrix(embedding: Any, vocabulary: int, dim: int) -> nn.Parameter:
    """The embedding's matrix, if it has the shape (vocabulary, dim); otherwise raise Invalid."""
    weight = embedding.weight if offers(embedding, "weight") else None
    if not isinstance(weight, nn.Parameter):
        raise Invalid("tied", f"a {type(embedding).__name__} has no matrix to share. Name a token embedding.")
    if weight.shape != (vocabulary, dim):
        raise Invalid(
            "tied",
            f"the embedding's matrix is {tuple(weight.shape)}, but this block needs ({vocabulary}, {dim}): "
            "the same vocabulary and the same width.",
        )
    return weight
