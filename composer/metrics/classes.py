"""Metrics of classes and tags as a whole: F1, a comparison with the commonest class, and the most likely classes."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from composer.core.problems import UserError
from composer.core.registry import register
from composer.core.target import Target
from composer.metrics.metric import ERROR, SHARE, HeadBatch, Metric, by_row, divided
from composer.metrics.single_predictions import entries

#: The number of most likely classes among which the target is looked for.
TOP = 5


@register("metric", "f1")
class F1(Metric):
    """Macro over classes and tags, micro over binary labels. Heads have ``macro_f1`` or ``micro_f1``, which say so."""

    direction = "max"
    possible = SHARE
    meaning = "macro_f1 of classes and tags, micro_f1 of binary labels: the name that older runs have for both"

    macro: ClassVar[bool | None] = None

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.classes = target.field.vocabulary or target.field.dim or 1
        self.averages = target.field.vocabulary is not None if self.macro is None else self.macro
        self.width = 3 * self.classes  # for every class: true positives, targets, predictions

    def rows(self, seen: HeadBatch) -> Tensor:
        of_classes = self.target.field.vocabulary is not None
        counts = counts_of_classes(seen, self.classes) if of_classes else counts_of_labels(seen)
        return counts.flatten(1)

    def value(self, sums: Tensor) -> Tensor:
        both, wanted, found = sums.unflatten(-1, (3, self.classes)).unbind(-2)
        if self.averages:
            return divided(2 * both, wanted + found).nanmean(-1)
        return divided(2 * both.sum(-1), (wanted + found).sum(-1))


@register("metric", "macro_f1")
class MacroF1(F1):
    meaning = (
        "F1, the harmonic mean of precision and recall, of every class, tag or label, averaged over them (macro): all "
        "weigh the same, without those that are neither targets nor predictions"
    )
    macro = True


@register("metric", "micro_f1")
class MicroF1(F1):
    meaning = (
        "F1, the harmonic mean of precision and recall, of all binary labels of all examples together (micro): "
        "frequent labels weigh more"
    )
    macro = False


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
        return torch.cat([seen.weighted(seen.right)[:, None], counts_of_classes(seen, self.classes)[:, 1]], dim=1)

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
        return seen.averaged(above < TOP)


def has_top(target: Target) -> bool:
    """Whether there are more classes than the most likely ones that are counted, and the head says which these are."""
    return target.likelihoods and (target.field.vocabulary or 0) > TOP


def counts_of_classes(seen: HeadBatch, classes: int) -> Tensor:
    """(B, 3, V): the weight of every class in every row, where it is predicted correctly, a target, and predicted."""
    weight = by_row(seen.weight)
    wanted, found = (by_row(torch.where(seen.counted, s.values, 0)) for s in (seen.target, seen.found))
    none = torch.zeros(len(weight), classes, dtype=torch.float64)
    both = none.scatter_add(1, wanted, weight * by_row(seen.right))
    return torch.stack([both, none.scatter_add(1, wanted, weight), none.scatter_add(1, found, weight)], dim=1)


def counts_of_labels(seen: HeadBatch) -> Tensor:
    """(B, 3, D): the same of binary labels."""
    wanted, found, weight = entries(seen)
    return torch.stack([(part * weight).sum(1) for part in (wanted & found, wanted, found)], dim=1)


def _classes(target: Target, metric: str) -> int:
    if target.field.vocabulary is None:
        raise UserError(f"{metric} is about classes, and '{target.name}' has none. Leave this metric out.")
    return target.field.vocabulary
