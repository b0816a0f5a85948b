"""A normal distribution for every channel, for the heads that predict real values."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

from composer import Seq, Vec

Variance = Literal["fixed", "learned"]

#: The size of a head's output at initialisation for an input of size 1: first predictions are near zero.
FIRST_SIZE = 0.1


class Normal(nn.Module):
    """Values are means, (..., D), then log-variances, (..., D), if the variance is learned; otherwise it is 1."""

    def __init__(self, target_dim: int, variance: Variance) -> None:
        super().__init__()
        self.target_dim = target_dim
        self.learned = variance == "learned"

    def projection(self, dim: int, steps: int = 1, *, centred: bool) -> nn.Linear:
        """A linear layer to the distributions of ``steps`` steps, with small weights; with none at all if its output
        is added to the centre of a window, so that first forecasts are that centre, a baseline."""
        layer = nn.Linear(dim, steps * self.target_dim * (2 if self.learned else 1))
        nn.init.normal_(layer.weight, std=0.0 if centred else FIRST_SIZE / math.sqrt(dim))
        nn.init.zeros_(layer.bias)
        return layer

    def predict(self, output: Seq | Vec) -> Seq | Vec:
        """(..., D): the mean, without the variance."""
        return output.like(output.values[..., : self.target_dim])

    def sample(self, values: Tensor, generator: torch.Generator) -> Tensor:
        """(..., D): values drawn from the distributions of an output's values."""
        mean = values[..., : self.target_dim]
        noise = torch.randn(mean.shape, generator=generator, dtype=mean.dtype, device=mean.device)
        return mean + noise * self.deviation(values)

    def deviation(self, values: Tensor) -> Tensor:
        """(..., D): the standard deviation of an output's values, which is 1 unless it is learned."""
        mean, log_variance = values[..., : self.target_dim], values[..., self.target_dim :]
        return (0.5 * log_variance).exp() if self.learned else torch.ones_like(mean)

    def negative_log_likelihood(self, output: Seq | Vec, target: Seq | Vec) -> Tensor:
        """(B, T) or (B,), in nats; zero in the padding."""
        mask = target.mask if isinstance(target, Seq) else None
        found = Seq(output.values, target.lengths).filled() if isinstance(target, Seq) else output.values
        wanted = target.filled() if isinstance(target, Seq) else target.values
        terms = (wanted - found[..., : self.target_dim]).square()  # (..., D)
        if self.learned:
            log_variance = found[..., self.target_dim :]
            terms = terms * (-log_variance).exp() + log_variance
        losses = 0.5 * terms.sum(-1) + 0.5 * self.target_dim * math.log(2 * math.pi)
        return losses if mask is None else losses.masked_fill(~mask, 0.0)
