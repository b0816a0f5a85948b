"""What became of classes, tags, entities and labels: how often each is a target, a prediction, and both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from composer.core.target import Target
from composer.graph.graph import Graph, evaluating
from composer.metrics.classes import counts_of_classes, counts_of_labels
from composer.metrics.entities import EntityF1, marks_entities
from composer.metrics.head_batches import predictions
from composer.metrics.metric import HeadBatch
from composer.objectives import Batch, Objective

#: Equal intervals of the probability of a prediction (Guo et al., 2017).
BINS = 15

#: A head with more classes predicts words rather than classes, and has no matrix of them.
MOST_CLASSES = 2000


@dataclass(frozen=True)
class ByName:
    """How often each class, type of entity or label was predicted correctly, is in the targets, and was predicted.

    kind: what is counted: class, tag, entity or label
    counts: (N, 3)
    """

    kind: str
    names: tuple[str, ...]
    counts: Tensor

    def __add__(self, other: ByName) -> ByName:
        return replace(self, counts=self.counts + other.counts)

    def rows(self) -> list[dict[str, str | float]]:
        """Precision, recall and F1 of each that occurs, and how often it is in the targets, the commonest first."""
        found: list[dict[str, str | float]] = []
        for name, (right, wanted, predicted) in zip(self.names, self.counts.tolist(), strict=True):
            if wanted + predicted:
                shares = [(right, predicted), (right, wanted), (2 * right, wanted + predicted)]
                precision, recall, f1 = (part / whole if whole else torch.nan for part, whole in shares)
                support = round(wanted) if wanted == round(wanted) else wanted
                found.append({self.kind: name, "precision": precision, "recall": recall, "f1": f1, "support": support})
        return sorted(found, key=lambda row: -float(row["support"]))


@dataclass(frozen=True)
class ClassOutcomes:
    """What became of the examples, or steps, of a head that predicts classes or tags.

    confusion: (V, V), the number of each class, by row, that was predicted as each class, by column
    bins: (BINS, 3), for every interval of the probability of a prediction: the number of predictions, the sum of their
        probabilities, and the number of correct ones; None where the head gives no probabilities
    """

    names: tuple[str, ...]
    confusion: Tensor
    bins: Tensor | None

    def __add__(self, other: ClassOutcomes) -> ClassOutcomes:
        bins = None if self.bins is None or other.bins is None else self.bins + other.bins
        return ClassOutcomes(self.names, self.confusion + other.confusion, bins)

    @property
    def calibration_error(self) -> float:
        """The expected calibration error: the mean distance of probability and accuracy, over all predictions."""
        assert self.bins is not None
        counts, likely, right = self.bins.unbind(1)
        return float((likely - right).abs().sum() / counts.sum().clamp(min=1))

    def cells(self) -> list[tuple[str, str, int]]:
        """Every target and prediction that occur together, and how often, the commonest first."""
        found = [(wanted, predicted, int(self.confusion[wanted, predicted]))
                 for wanted, predicted in self.confusion.nonzero().tolist()]  # fmt: skip
        return [(self.names[w], self.names[p], count) for w, p, count in sorted(found, key=lambda cell: -cell[2])]


def predicts_classes(target: Target) -> bool:
    """Whether a head predicts one class for an example, or a tag for every step."""
    kind, steps = target.field.kind, target.aligned and not target.generates and not target.contents.text
    few = (target.field.vocabulary or 0) <= MOST_CLASSES
    return few and (kind == "label" or (kind == "ids" and steps))


def by_name(seen: HeadBatch, target: Target) -> ByName | None:
    """The counts of one head on one batch: of entities where tags mark them, else of classes, tags or labels."""
    field = target.field
    if predicts_classes(target):
        if field.kind == "ids" and marks_entities(field.contents.tokens):
            entities = EntityF1(target)
            return ByName("entity", entities.types, entities.by_type(seen))
        counts, kind = counts_of_classes(seen, field.vocabulary or 1), "tag" if field.kind == "ids" else "class"
        return ByName(kind, _names(field.contents.tokens, counts.shape[-1]), _summed(counts))
    if target.binary:
        counts = counts_of_labels(seen)
        return ByName("label", _names(field.contents.names, counts.shape[-1]), _summed(counts))
    return None


def _names(names: Sequence[str] | None, size: int) -> tuple[str, ...]:
    return tuple(names) if names is not None else tuple(map(str, range(size)))


def _summed(counts: Tensor) -> Tensor:
    """(B, 3, N) to (N, 3)."""
    return counts.sum(0).t()


def outcomes_of(seen: HeadBatch, target: Target) -> ClassOutcomes:
    """The outcomes of one head on one batch. Steps of weight 0 are left out; all others count once."""
    size = target.field.vocabulary or 1
    counted = seen.counted
    wanted, found = seen.target.values[counted], seen.found.values[counted]
    confusion = torch.bincount(wanted * size + found, minlength=size * size).view(size, size).double()
    bins, logs = None, seen.log_likelihoods
    if logs is not None:
        likely = logs[counted].double().gather(1, found[:, None])[:, 0].exp()
        places = (likely * BINS).long().clamp(0, BINS - 1)
        parts = torch.stack([torch.ones_like(likely), likely, (wanted == found).double()], dim=1)
        bins = torch.zeros(BINS, 3, dtype=torch.float64).index_add(0, places, parts)
    return ClassOutcomes(_names(target.contents.tokens, size), confusion, bins)


@torch.no_grad()
def class_outcomes(graph: Graph, objective: Objective, batches: Iterable[Batch]) -> dict[str, ClassOutcomes]:
    """The outcomes of every head that predicts classes or tags, by the name of its node."""
    heads = {head.name: graph.target(head) for head in graph.heads if predicts_classes(graph.target(head))}
    found: dict[str, ClassOutcomes] = {}
    if not heads:
        return found
    with evaluating(graph):
        for batch in batches:
            views = predictions(graph, objective, batch.to(graph.device), decoded=False)
            for name, target in heads.items():
                one = outcomes_of(views[name].steps, target)
                found[name] = one if name not in found else found[name] + one
    return found
