"""Tokens or classes learned by negative sampling: a step reads the vectors of a few tokens, not of all.

    loss = -log sigmoid(u_y . h) - sum_k log sigmoid(-u_k . h),  k drawn from q(j) ~ f_j^power

for the frequency f_j of token j in the training split. Mikolov et al., 2013 (word2vec). The minimum is at
u_y . h = log p(y | h) - log(K q(y)) for K negatives (Levy and Goldberg, 2014), which gives the probability

    p(y | h) = softmax(U h + log q)_y

Evaluation and prediction use p over the whole vocabulary and draw nothing: the loss there is -log p(y | h), comparable
to that of a full softmax. The negatives of training come from torch's generator, as those of dropout do, whose state is
part of a checkpoint. The output is h itself, (B, T, D) or (B, D). No state.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer import Ids, Invalid, Label, Positive, Range, Seq, Vec, register

#: The largest number of scores that evaluation computes at once.
SCORES = 2**23


@register("head", "negative_sampling")
class NegativeSampling(nn.Module):
    monitor = "loss"  # of words by their neighbours, most guesses are wrong, however good the vectors
    noise: Tensor
    log_noise: Tensor

    def __init__(
        self,
        dim: int,
        target_vocabulary: int,
        target_frequency: tuple[float, ...] | None,
        *,
        negatives: Positive = 5,
        power: Annotated[float, Range(low=0)] = 0.75,
    ) -> None:
        super().__init__()
        if target_frequency is None:
            raise Invalid(
                "predicts",
                "the data does not count the values of this field, so negatives cannot be drawn by their frequency. "
                "Predict a sequence of tokens, or use the head categorical.",
            )
        self.negatives = negatives
        self.vectors = nn.Parameter(torch.empty(target_vocabulary, dim))  # (V, D), u of every token
        nn.init.normal_(self.vectors, std=dim**-0.5)
        q = noise_distribution(target_frequency, power)
        self.register_buffer("noise", q.cumsum(0), persistent=False)  # (V,), made of the data's counts
        self.register_buffer("log_noise", q.log().float(), persistent=False)  # (V,)

    def map(self, values: Tensor) -> Tensor:
        return values

    def forward(self, x: Seq | Vec) -> Seq | Vec:
        return x.like(x.filled() if isinstance(x, Seq) else x.values)

    def log_probabilities(self, values: Tensor) -> Tensor:
        """(..., V): log p of an output's vectors."""
        return F.log_softmax(self._scores(values), dim=-1)

    def _scores(self, values: Tensor) -> Tensor:
        return values @ self.vectors.T.to(values.dtype) + self.log_noise.to(values.dtype)  # (..., V)

    def predict(self, output: Seq | Vec) -> Ids | Label:
        """The most likely token of every step, or class of every row."""
        flat = output.values.flatten(0, -2)  # (N, D)
        best = torch.cat([self._scores(part).argmax(-1) for part in self._parts(flat)]).view(output.values.shape[:-1])
        return Ids(best, output.lengths) if isinstance(output, Seq) else Label(best)

    def loss(self, output: Seq | Vec, target: Ids | Label) -> Tensor:
        """(B, T) or (B,), in nats."""
        if isinstance(output, Vec):
            return self._losses(output.values, target.values)
        assert isinstance(target, Ids)
        h, wanted, mask = output.values.flatten(0, 1), target.values.flatten(), target.mask
        if mask is None:
            return self._losses(h, wanted).view_as(target.values)
        real = mask.flatten().nonzero()[:, 0]  # windows of words differ in length, and the padding costs as much
        losses = self._losses(h.index_select(0, real), wanted[real])
        return losses.new_zeros(mask.numel()).index_add(0, real, losses).view_as(target.values)

    def _losses(self, h: Tensor, wanted: Tensor) -> Tensor:
        """(N,), the losses of vectors (N, D) and tokens (N,)."""
        if self.training:
            return self._sampled(h, wanted, self.draw(len(h)))
        parts = zip(self._parts(h), self._parts(wanted), strict=True)
        return torch.cat([F.cross_entropy(self._scores(part), ids, reduction="none") for part, ids in parts])

    def draw(self, count: int) -> Tensor:
        """(count, K) tokens, drawn from q."""
        draws = torch.rand(count, self.negatives, dtype=self.noise.dtype, device=self.noise.device)
        return torch.searchsorted(self.noise, draws * self.noise[-1], right=True).clamp(max=len(self.noise) - 1)

    def _sampled(self, h: Tensor, wanted: Tensor, negatives: Tensor) -> Tensor:
        tokens = torch.cat([wanted[:, None], negatives], dim=1)  # (N, 1 + K)
        u = self.vectors.index_select(0, tokens.flatten()).view(*tokens.shape, h.shape[-1])  # (N, 1 + K, D)
        scores = (h[:, None] * u).sum(-1)
        return F.softplus(torch.cat([-scores[:, :1], scores[:, 1:]], dim=1)).sum(1)

    def _parts(self, rows: Tensor) -> Iterator[Tensor]:
        """The rows in parts, so that the scores of all tokens fit into memory."""
        yield from rows.split(max(1, SCORES // len(self.vectors)))


def noise_distribution(frequency: tuple[float, ...], power: float) -> Tensor:
    """(V,), float64: frequencies to a power, normalised. A token that was not counted is as rare as the rarest one."""
    least = min((share for share in frequency if share > 0), default=1.0)
    smoothed = torch.tensor([max(share, least) for share in frequency], dtype=torch.float64) ** power
    return smoothed / smoothed.sum()
