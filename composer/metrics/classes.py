"""Metrics of classes and tags as a whole: F1, a comparison with the commonest class, and the most likely classes."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.problems import UserError
from composer.core.registry import register
from composer.core.target import Target
from composer.metrics.metric import ERROR, SHARE, HeadBatch, Metric, by_row, divided, ratio
from composer.metrics.steps import entries, totals

#: The number of most likely classes among which the target is looked for.
TOP = 5


@register("metric", "f1")
class F1(Metric):
    """Macro over classes and tags, micro over binary labels. Heads have ``macro_f1`` or ``micro_f1``, which say so."""

    direction = "max"
    possible = SHARE
    meaning = "macro_f1 of classes and tags, micro_f1 of binary labels: the name that older runs have for both"

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.classes = target.field.vocabulary
        if self.classes is not None:
            self.width = 3 * self.classes  # for every class: true positives, targets, predictions

    def rows(self, seen: HeadBatch) -> Tensor:
        if self.classes is None:
            wanted, found, weight = entries(seen)
            return totals(2 * (wanted & found) * weight, wanted * weight + found * weight)
        weight = by_row(seen.weight)
        wanted, found = (by_row(torch.where(seen.counted, s.values, 0)) for s in (seen.target, seen.found))
        none = torch.zeros(len(weight), self.classes, dtype=torch.float64)
        both = none.scatter_add(1, wanted, weight * by_row(seen.right))
        return torch.cat([both, none.scatter_add(1, wanted, weight), none.scatter_add(1, found, weight)], dim=1)

    def value(self, sums: Tensor) -> Tensor:
        if self.classes is None:
            return ratio(sums)
        both, wanted, found = sums.unflatten(-1, (3, self.classes)).unbind(-2)
        return divided(2 * both, wanted + found).nanmean(-1)


@register("metric", "macro_f1")
class MacroF1(F1):
    direction = "max"
    meaning = (
        "F1, the harmonic mean of precision and recall, of every class or tag, averaged over the classes (macro): all "
        "classes weigh the same, without those that are neither targets nor predictions"
    )


@register("metric", "micro_f1")
class MicroF1(F1):
    direction = "max"
    meaning = (
        "F1, the harmonic mean of precision and recall, of all binary labels of all examples together (micro): "
        "frequent labels weigh more"
    )


@register("metric", "accuracy_over_commonest")
class AccuracyOverCommonest(Metric):
    """The commonest class is that of the evaluated examples, so the comparison needs no other data."""

    direction = "max"
    possible = ERROR
    meaning = (
        "the accuracy over that of always answering the commonest class or tag of the evaluated examples; 1 is no "
        "better than that"
    )

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.classes = _classes(target, "accuracy_over_commonest")
        self.width = 1 + self.classes  # correct predictions, and the targets of every class

    def rows(self, seen: HeadBatch) -> Tensor:
        return torch.cat([seen.weighted(seen.right)[:, None], by_class(seen, self.classes)], dim=1)

    def value(self, sums: Tensor) -> Tensor:
        return divided(sums[..., 0], sums[..., 1:].amax(-1))

    def resampled(self, rows: Tensor) -> Tensor:
        commonest = 1 + int(rows[:, 1:].sum(0).argmax())
        kept = torch.zeros_like(rows)
        kept[:, [0, commonest]] = rows[:, [0, commonest]]
        return kept


@register("metric", "top5_accuracy")
class TopAccuracy(Metric):
    direction = "max"
    possible = SHARE
    meaning = f"the share of classes or tags that are among the {TOP} most likely ones"

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        _classes(target, "top5_accuracy")
        if not target.likelihoods:
            raise UserError(
                f"top5_accuracy needs the log-probabilities of '{target.name}', which its head does not give. "
                "Leave this metric out."
            )

    def rows(self, seen: HeadBatch) -> Tensor:
        found = seen.log_likelihoods
        assert found is not None, "a head that gives log-probabilities"
        wanted = torch.where(seen.counted, seen.target.values, 0)
        above = (found > found.gather(-1, wanted[..., None])).sum(-1)  # the number of classes that are more likely
        return torch.stack([seen.weighted(above < TOP), by_row(seen.weight).sum(1)], dim=1)


def has_top(target: Target) -> bool:
    """Whether there are more classes than the most likely ones that are counted, and the head says which these are."""
    return target.likelihoods and (target.field.vocabulary or 0) > TOP


def by_class(seen: HeadBatch, classes: int) -> Tensor:
    """(B, V): the weight of the targets of every class, in every row."""
    wanted = by_row(torch.where(seen.counted, seen.target.values, 0))
    weight = by_row(seen.weight)
    return torch.zeros(len(weight), classes, dtype=torch.float64).scatter_add(1, wanted, weight)


def _classes(target: Target, metric: str) -> int:
    if target.field.vocabulary is None:
        raise UserError(f"{metric} is about classes, and '{target.name}' has none. Leave this metric out.")
    return target.field.vocabulary
