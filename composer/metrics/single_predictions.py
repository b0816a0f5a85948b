"""Metrics of single predictions: tokens, classes, tags, and binary labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar

import torch
from torch import Tensor

from composer.core.registry import register
from composer.core.signals import Ids
from composer.metrics.metric import ERROR, SHARE, HeadBatch, Metric, by_row, ratio


@register("metric", "loss")
class Loss(Metric):
    direction = "min"
    meaning = "the mean loss of a step of the target, or of an example without steps, in nats; summed over the heads"

    def rows(self, seen: HeadBatch) -> Tensor:
        return seen.averaged(seen.losses)


@register("metric", "perplexity")
class Perplexity(Loss):
    possible = ERROR
    meaning = "exp(loss): the number of equally likely tokens that would be as hard to predict"
    quoted = 5

    def value(self, sums: Tensor) -> Tensor:
        return ratio(sums).exp()


@register("metric", "bits_per_character")
class BitsPerCharacter(Metric):
    direction = "min"
    possible = ERROR
    meaning = "the loss of a text in bits, <eos> included, over its characters: comparable between tokenisers"
    quoted = 4

    def rows(self, seen: HeadBatch) -> Tensor:
        return torch.stack([seen.weighted(seen.losses) / math.log(2), _characters(seen)], dim=1)


def _characters(seen: HeadBatch) -> Tensor:
    """(B,), the number of characters of the tokens with a weight: 0 for <sos> and <eos>, 1 for <unk> and the like."""
    ids, ends = seen.target.values, {seen.field.start, seen.field.stop} - {None}
    other = seen.counted & _among(ids, set(seen.field.contents.special) - ends)
    spelled = seen.counted & ~other & ~_among(ids, ends)
    order = spelled.logical_not().long().argsort(dim=1, stable=True)  # ordinary tokens first, in their order
    texts = seen.show(Ids(ids.gather(1, order), spelled.sum(1)))
    return torch.tensor([len(text) for text in texts], dtype=torch.float64) + other.sum(1)


def _among(ids: Tensor, some: Iterable[Any]) -> Tensor:
    return torch.isin(ids, torch.tensor(list(some), dtype=ids.dtype))


@register("metric", "accuracy")
class Accuracy(Metric):
    direction = "max"
    possible = SHARE
    meaning = "the share of classes, tags or binary labels that are predicted correctly"
    quoted: ClassVar[int | None] = 1

    def rows(self, seen: HeadBatch) -> Tensor:
        if self.target.field.vocabulary is None:
            wanted, found, weight = entries(seen)
            return totals((wanted == found) * weight, torch.ones_like(wanted) * weight)
        return seen.averaged(seen.right)


@register("metric", "token_accuracy")
class TokenAccuracy(Accuracy):
    meaning = "the share of tokens that are predicted correctly, with teacher forcing"
    quoted = None


@register("metric", "exact")
class Exact(Metric):
    direction = "max"
    possible = SHARE
    meaning = "the share of examples that are correct as a whole (exact match); with several references, equal to any"
    quoted = 2
    whole = True

    def rows(self, seen: HeadBatch) -> Tensor:
        if self.target.compares_texts:
            pairs = zip(seen.references, seen.found_texts, strict=True)
            right = torch.tensor([found in wanted for wanted, found in pairs], dtype=torch.float64)
        else:
            right = (by_row(seen.counted.double() - seen.right).sum(1) == 0).double()
        return torch.stack([right * seen.counted_rows, seen.counted_rows], dim=1)


def entries(seen: HeadBatch) -> tuple[Tensor, Tensor, Tensor]:
    """Which binary labels the target has and which were predicted, (B, N, D), and their weights, (B, N, 1)."""
    wanted, found, weight = seen.numbers()
    return wanted > 0.5, found > 0.5, weight


def totals(*parts: Any) -> Tensor:
    """(B, S): the sum of each of S tensors, (B, N, D), over all entries of a row."""
    return torch.stack([part.sum((1, 2)) for part in parts], dim=1)
