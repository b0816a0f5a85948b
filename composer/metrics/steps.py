"""Metrics of single predictions: tokens, classes, tags, and labels that are there or not."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from composer.core.signals import Ids
from composer.metrics.metric import Metric, Seen, by_row, divided, ratio


def _loss(seen: Seen) -> Tensor:
    return torch.stack([seen.weighted(seen.losses), by_row(seen.weight).sum(1)], dim=1)


def _bits(seen: Seen) -> Tensor:
    return torch.stack([seen.weighted(seen.losses) / math.log(2), _characters(seen)], dim=1)


def _characters(seen: Seen) -> Tensor:
    """(B,), the characters that the counted tokens spell: none for <sos> and <eos>, one for <unk> and its like."""
    ids, ends = seen.target.values, {seen.field.start, seen.field.stop} - {None}
    other = seen.counted & _among(ids, set(seen.field.special) - ends)
    spelled = seen.counted & ~other & ~_among(ids, ends)
    order = spelled.logical_not().long().argsort(dim=1, stable=True)  # what is spelled first, in its order
    texts = seen.show(Ids(ids.gather(1, order), spelled.sum(1)))
    return torch.tensor([len(text) for text in texts], dtype=torch.float64) + other.sum(1)


def _among(ids: Tensor, some: Iterable[Any]) -> Tensor:
    return torch.isin(ids, torch.tensor(list(some), dtype=ids.dtype))


def _accuracy(seen: Seen) -> Tensor:
    return torch.stack([seen.weighted(seen.right), by_row(seen.weight).sum(1)], dim=1)


def _exact(seen: Seen) -> Tensor:
    wrong = by_row(seen.counted.double() - seen.right).sum(1)
    return torch.stack([(wrong == 0).double() * seen.counted_rows, seen.counted_rows], dim=1)


LOSS = Metric("loss", 2, _loss, ratio)
PERPLEXITY = Metric("perplexity", 2, _loss, lambda sums: ratio(sums).exp())
BITS_PER_CHARACTER = Metric("bits_per_character", 2, _bits, ratio)
TOKEN_ACCURACY = Metric("token_accuracy", 2, _accuracy, ratio)
ACCURACY = Metric("accuracy", 2, _accuracy, ratio)
EXACT = Metric("exact", 2, _exact, ratio)


def macro_f1(classes: int) -> Metric:
    """The mean of the classes' F1, each worth the same however rare; one neither wanted nor found is left out."""

    def rows(seen: Seen) -> Tensor:
        weight = by_row(seen.weight)
        wanted, found = (by_row(torch.where(seen.counted, s.values, 0)) for s in (seen.target, seen.found))
        none = torch.zeros(len(weight), classes, dtype=torch.float64)
        both = none.scatter_add(1, wanted, weight * by_row(seen.right))
        return torch.cat([both, none.scatter_add(1, wanted, weight), none.scatter_add(1, found, weight)], dim=1)

    def value(sums: Tensor) -> Tensor:
        both, wanted, found = sums.unflatten(-1, (3, classes)).unbind(-2)
        return divided(2 * both, wanted + found).nanmean(-1)

    return Metric("f1", 3 * classes, rows, value)


def _entries(seen: Seen) -> tuple[Tensor, Tensor, Tensor]:
    """Which entries are wanted, which found, (B, N, D), and their weights, (B, N, 1)."""
    wanted, found, weight = seen.numbers()
    return wanted > 0.5, found > 0.5, weight


def _binary_accuracy(seen: Seen) -> Tensor:
    wanted, found, weight = _entries(seen)
    return _totals((wanted == found) * weight, torch.ones_like(wanted) * weight)


def _binary_f1(seen: Seen) -> Tensor:
    wanted, found, weight = _entries(seen)
    return _totals(2 * (wanted & found) * weight, wanted * weight + found * weight)


def _totals(*parts: Any) -> Tensor:
    return torch.stack([part.sum((1, 2)) for part in parts], dim=1)


BINARY_ACCURACY = Metric("accuracy", 2, _binary_accuracy, ratio)
BINARY_F1 = Metric("f1", 2, _binary_f1, ratio)
