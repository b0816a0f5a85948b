"""A categorical distribution over tokens or classes, with the cross-entropy as its loss.

    p(y | h) = softmax(W h + b)_y,  loss = -log p(y | h)

With ``tied``, W is the matrix of an embedding (weight tying; Press and Wolf, 2017). With label smoothing e, the target
in training is 1 - e on y plus e spread uniformly over all classes (Szegedy et al., 2016); evaluation uses
-log p(y | h). No state.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from composer import Ids, Label, Probability, Reference, Seq, Vec, register

from ..tied import shared_matrix


@register("head", "categorical")
class Categorical(nn.Module):
    stepwise = True

    def __init__(
        self,
        dim: int,
        target_vocabulary: int,
        *,
        tied: Reference | None = None,
        bias: bool = True,
        label_smoothing: Probability = 0.0,
    ) -> None:
        super().__init__()
        self.label_smoothing = label_smoothing
        self.project = nn.Linear(dim, target_vocabulary, bias=bias)
        if tied is not None:
            self.project.weight = shared_matrix(tied, target_vocabulary, dim)

    def map(self, values: Tensor) -> Tensor:
        return self.project(values)  # (..., V), logits

    def forward(self, x: Seq | Vec) -> Seq | Vec:
        return x.like(self.map(x.filled() if isinstance(x, Seq) else x.values))

    def predict(self, output: Seq | Vec) -> Ids | Label:
        """The most likely token of every step, or class of every row."""
        best = output.values.argmax(-1)
        return Ids(best, output.lengths) if isinstance(output, Seq) else Label(best)

    def log_probabilities(self, values: Tensor) -> Tensor:
        """(..., V): the log-probabilities of an output's logits."""
        return F.log_softmax(values, dim=-1)

    def loss(self, output: Seq | Vec, target: Ids | Label) -> Tensor:
        """(B, T) or (B,), in nats."""
        smoothing = self.label_smoothing if self.training else 0.0
        if isinstance(output, Vec):
            return F.cross_entropy(output.values, target.values, label_smoothing=smoothing, reduction="none")
        assert isinstance(target, Ids)
        logits = output.like(output.values).filled().flatten(0, 1)  # (B * T, V)
        wanted = target.filled(0).flatten()
        losses = F.cross_entropy(logits, wanted, label_smoothing=smoothing, reduction="none")
        losses = losses.view_as(target.values)
        return losses if target.mask is None else losses.masked_fill(~target.mask, 0.0)
