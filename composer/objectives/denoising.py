"""Denoising: a text is corrupted, and the model generates the original.

    BART (Lewis et al., 2020): text infilling replaces spans of tokens, whose lengths are drawn from a Poisson
    distribution, by one [MASK] each; a span of length 0 inserts a [MASK]. Tokens may also be deleted, and sentences
    permuted.

Sentences are permuted first, then tokens deleted, then spans masked. A final <eos> stays at the end of the row.
Fields: ``source``, the corrupted text, and ``target``, the original.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from composer.core.block import Probability, Scale
from composer.core.problems import Invalid, listed
from composer.core.registry import register
from composer.core.signals import Field, Ids
from composer.data.generated_source import cut
from composer.data.source import Source
from composer.objectives.corruption import Corruption, chosen, ranks, rounded
from composer.objectives.objective import blank_weights
from composer.objectives.text_objective import Draw, compacted


@register("objective", "denoising")
class Denoising(Corruption):
    def __init__(
        self,
        source: Source,
        *,
        field: str | None = None,
        mask_share: Probability = 0.3,
        mean_span: Scale = 3.0,
        delete_share: Probability = 0.0,
        permute: bool = False,
        ends: list[str] = [".", "!", "?"],  # noqa: B006 - never changed
        seed: int = 0,
    ) -> None:
        super().__init__(source, field, seed)
        self.mask_share, self.mean_span, self.delete_share = mask_share, mean_span, delete_share
        self.permute = permute
        self.spans = poisson(mean_span)
        tokens = self.original.contents.tokens or ()
        self.ends = torch.tensor([i for i, token in enumerate(tokens) if token in ends], dtype=torch.long)
        if permute and not len(self.ends):
            raise Invalid("ends", f"none of {listed(ends)} is a token of '{self.field}', so no sentence ends anywhere.")

    @property
    def fields(self) -> dict[str, Field]:
        return {"source": self.masked_field, "target": self.masked_field}

    def corrupted(self, original: Ids, draw: Draw) -> tuple[Ids, dict[str, Tensor]]:
        values, counts = original.filled(0), original.counts
        last = values.gather(1, (counts - 1).clamp(min=0)[:, None])[:, 0]
        ended = (counts > 0) & (last == (-1 if self.original.stop is None else self.original.stop))
        body, counts = values, counts - ended.long()
        if self.permute:
            body = self._permuted(body, counts, draw("order", original.time))
        if self.delete_share:
            lost = rounded(self.delete_share * counts, draw("lost", 1))
            lost = torch.minimum(lost, (counts - 1).clamp(min=0))  # at least one token remains
            real = torch.arange(body.shape[1]) < counts[:, None]
            gone = chosen(draw("loss", original.time), real, lost)
            body, counts = compacted(body, real & ~gone)
        if self.mask_share:
            hidden = rounded(self.mask_share * counts, draw("count", 1))
            spans = torch.searchsorted(self.spans, draw("span", original.time), right=True)  # (B, T), their lengths
            body, counts = infilled(body, counts, hidden, spans, draw("place", 2 * original.time), self.mask)
        source = _closed(body, counts, ended, self.original.stop or 0)
        return source, blank_weights({"target": original}, {"target": self.original})

    def _permuted(self, values: Tensor, counts: Tensor, draws: Tensor) -> Tensor:
        """The rows with their sentences sorted by ``draws``, which makes a random order."""
        real = torch.arange(values.shape[1]) < counts[:, None]
        final = (torch.isin(values, self.ends) & real).long()
        sentence = final.cumsum(1) - final  # (B, T), the number of the sentence that a token belongs to
        keys = draws.gather(1, sentence).masked_fill(~real, 2.0)
        return values.gather(1, keys.argsort(dim=1, stable=True))


def poisson(mean: float) -> Tensor:
    """P(length <= k) for k = 0, 1, ... under a Poisson distribution, until float64 cannot distinguish it from 1."""
    most = int(mean + 12 * math.sqrt(mean) + 20)
    logs = [k * math.log(mean) - mean - math.lgamma(k + 1) for k in range(most)]
    return torch.tensor(logs, dtype=torch.float64).exp().cumsum(0)


def infilled(
    values: Tensor, counts: Tensor, hidden: Tensor, spans: Tensor, draws: Tensor, mask: int
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The rows and their lengths after text infilling: ``hidden`` (B,) tokens in spans, each replaced by one mask.

    spans: (B, T), lengths of spans. They are used in this order until ``hidden`` tokens are covered; the last span is
        shortened to fit, and a row has at most as many spans as tokens
    draws: (B, 2 T), which choose the places. The remaining tokens and the spans of a row are arranged in slots, one
        each; every choice of slots for the spans is equally likely, and so spans never overlap
    """
    T = values.shape[1]
    steps = torch.arange(T)
    before = spans.cumsum(1) - spans
    used = (before < hidden[:, None]) & (steps < counts[:, None])  # (B, T)
    spans = torch.where(used, torch.minimum(spans, hidden[:, None] - before), 0)
    number = used.sum(1)
    slots = counts - spans.sum(1) + number  # (B,)
    real = torch.arange(2 * T) < slots[:, None]  # (B, 2 T): no more slots than tokens and spans
    rank = ranks(draws, real, number)
    is_span = rank < number[:, None]
    steps_over = torch.where(is_span, spans.gather(1, rank.clamp(max=T - 1)), 1)
    at = (steps_over.cumsum(1) - steps_over).clamp(max=T - 1)  # the token that a slot begins at
    return values.gather(1, at).masked_fill(is_span, mask), slots


def _closed(values: Tensor, counts: Tensor, ended: Tensor, stop: int) -> Ids:
    """The rows with ``stop`` appended to those that had it originally (``ended``)."""
    longer = torch.cat([values, values.new_zeros(len(values), 1)], dim=1)
    longer[torch.arange(len(values)), counts] = stop  # in rows that had no stop, this is padding
    return cut(longer, counts + ended.long())
