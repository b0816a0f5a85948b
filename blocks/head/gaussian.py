"""Real-valued outputs with a normal distribution.

    p(y | h) = N(y; m, diag(s)),  loss = 1/2 sum_j ((y_j - m_j)^2 / s_j + log s_j + log 2 pi)

with the mean m = W h + b. Its variance s is 1 where it is fixed; learned, the output is twice as wide and carries log s
beside m: [m; log s] = W h + b, so that the model says how sure it is (Nix and Weigend, 1994). No state.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer.protocol import Step
from composer.registry import register
from composer.signals import Seq, Vec


@register("head", "gaussian")
class Gaussian(nn.Module):
    def __init__(self, dim: int, target_dim: int, *, variance: Literal["fixed", "learned"] = "fixed") -> None:
        super().__init__()
        self.learned = variance == "learned"
        self.target_dim = target_dim
        self.project = nn.Linear(dim, target_dim * (2 if self.learned else 1))

    def forward(self, x: Seq | Vec) -> Seq | Vec:
        return x.like(self.project(x.filled() if isinstance(x, Seq) else x.values))  # (..., D) or (..., 2 D)

    def stepper(self) -> Step:
        weight, bias = self.project.weight, self.project.bias
        return lambda x: F.linear(x, weight, bias)

    def predict(self, output: Seq | Vec) -> Seq | Vec:
        """(..., D): the mean, without the variance."""
        return output.like(output.values[..., : self.target_dim])

    def sample(self, values: Tensor, generator: torch.Generator) -> Tensor:
        """(..., D), drawn for an output's values."""
        mean = values[..., : self.target_dim]
        noise = torch.randn(mean.shape, generator=generator, dtype=mean.dtype, device=mean.device)
        return mean + noise * (0.5 * values[..., self.target_dim :]).exp() if self.learned else mean + noise

    def loss(self, output: Seq | Vec, target: Seq | Vec) -> Tensor:
        """(B, T) or (B,), in nats."""
        mask = target.mask if isinstance(target, Seq) else None
        found = Seq(output.values, target.lengths).filled() if isinstance(target, Seq) else output.values
        wanted = target.filled() if isinstance(target, Seq) else target.values
        terms = (wanted - found[..., : self.target_dim]).square()  # (..., D)
        if self.learned:
            spread = found[..., self.target_dim :]
            terms = terms * (-spread).exp() + spread
        losses = 0.5 * terms.sum(-1) + 0.5 * self.target_dim * math.log(2 * math.pi)
        return losses if mask is None else losses.masked_fill(~mask, 0.0)
