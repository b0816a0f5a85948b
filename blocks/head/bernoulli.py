"""Several labels at once, each present or absent (multi-label classification).

    p(y_j = 1 | h) = sigmoid(W h + b)_j,  loss = -sum_j log p(y_j | h)

for targets of zeros and ones: the topics of a text, the pressed keys of a piano. No state.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer import Seq, Vec, register


@register("head", "bernoulli")
class Bernoulli(nn.Module):
    stepwise = True
    binary = True  # the entries of the target are 0 or 1, not real values
    decodes = False  # the most likely step often has no label at all, so generation samples every step

    def __init__(self, dim: int, target_dim: int, *, bias: bool = True) -> None:
        super().__init__()
        self.project = nn.Linear(dim, target_dim, bias=bias)

    def map(self, values: Tensor) -> Tensor:
        return self.project(values)  # (..., D), logits

    def forward(self, x: Seq | Vec) -> Seq | Vec:
        return x.like(self.map(x.filled() if isinstance(x, Seq) else x.values))

    def predict(self, output: Seq | Vec) -> Seq | Vec:
        """(..., D): 1 for a label with a probability above 1/2, else 0."""
        return output.like((output.values > 0).to(output.values.dtype))

    def sample(self, values: Tensor, generator: torch.Generator) -> Tensor:
        """(..., D): zeros and ones, drawn with the probabilities of an output's values."""
        return torch.bernoulli(torch.sigmoid(values), generator=generator)

    def loss(self, output: Seq | Vec, target: Seq | Vec) -> Tensor:
        """(B, T) or (B,): the binary cross-entropy summed over labels, in nats."""
        if isinstance(output, Vec):
            return F.binary_cross_entropy_with_logits(output.values, target.values, reduction="none").sum(-1)
        assert isinstance(target, Seq)
        logits = Seq(output.values, target.lengths).filled()
        losses = F.binary_cross_entropy_with_logits(logits, target.filled(), reduction="none").sum(-1)  # (B, T)
        return losses if target.mask is None else losses.masked_fill(~target.mask, 0.0)
