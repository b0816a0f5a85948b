"""Precision, recall and F1 of entities, which tags mark as spans of words: B-PER I-PER O B-LOC.

The definition is that of CoNLL-2000's evaluation script and of seqeval: a predicted entity is correct if its first and
its last step and its type are those of an entity of the target; counted over all examples together (micro). Entities
of IOB1, IOB2 (BIO) and BIOES are read alike: an entity begins at a tag B or S, after O, after E or S, and where the
type changes, also if the scheme would not allow such a tag there.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from composer.core.problems import UserError
from composer.core.registry import register
from composer.core.target import Target
from composer.metrics.metric import SHARE, HeadBatch, Metric, divided

#: The tag outside of all entities, and the first letters of the tags inside of one.
OUTSIDE, INSIDE = "O", "BIES"


def marks_entities(tags: Sequence[str] | None) -> bool:
    """Whether tags mark entities: O, and otherwise a letter of B, I, E, S and a type, with B or I among them."""
    if tags is None or OUTSIDE not in tags:
        return False
    others = [tag for tag in tags if tag != OUTSIDE]
    written = all(tag[:1] in INSIDE and tag[1:2] == "-" and len(tag) > 2 for tag in others)
    return written and any(tag[0] in "BI" for tag in others)


class OfEntities(Metric):
    """A metric of the entities of the target, of the prediction, and of both."""

    direction = "max"
    width = 3
    possible = SHARE

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        tags = target.contents.tokens
        if tags is None or not marks_entities(tags):
            raise UserError(
                f"the tags of '{target.name}' mark no entities: expected O and tags such as B-PER, I-PER. "
                "Leave out the metrics of entities."
            )
        self.types = tuple(sorted({tag[2:] for tag in tags if tag != OUTSIDE}))
        types = {name: number for number, name in enumerate(self.types)}
        self.outside = tags.index(OUTSIDE)
        self.type = torch.tensor([types.get(tag[2:], -1) for tag in tags])  # (V,), -1 for O
        self.begins = torch.tensor([tag[0] in "BS" for tag in tags])
        self.ends = torch.tensor([tag[0] in "ES" for tag in tags])

    def rows(self, seen: HeadBatch) -> Tensor:
        return torch.stack([starts.sum(1) for starts, _ in self._starts(seen)], dim=1).double()

    def by_type(self, seen: HeadBatch) -> Tensor:
        """(types, 3): the entities of each type that are predicted correctly, wanted, and predicted."""
        counts = [torch.bincount(types[starts], minlength=len(self.types)) for starts, types in self._starts(seen)]
        return torch.stack(counts, dim=1).double()

    def _starts(self, seen: HeadBatch) -> list[tuple[Tensor, Tensor]]:
        """Where the entities start that are predicted correctly, wanted, and predicted, each with their types."""
        wanted, found = (torch.where(seen.counted, s.values, self.outside) for s in (seen.target, seen.found))
        (starts, stops, types), (other_starts, other_stops, other_types) = self._spans(wanted), self._spans(found)
        both = starts & other_starts & (stops == other_stops) & (types == other_types)
        return [(both, types), (starts, types), (other_starts, other_types)]

    def _spans(self, tags: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Of the entities in tags, (B, T): where they start, the step after their last one, and their types."""
        types = self.type[tags]
        inside = types >= 0
        goes_on = torch.zeros_like(inside)  # an entity at t - 1 that does not end there, and of the same type
        goes_on[:, 1:] = (types[:, 1:] == types[:, :-1]) & ~self.ends[tags[:, :-1]]
        starts = inside & (self.begins[tags] | ~goes_on)
        steps = torch.arange(tags.shape[1]).expand_as(tags)
        bounds = torch.where(starts | ~inside, steps, tags.shape[1])
        bounds = torch.cat([bounds[:, 1:], torch.full_like(bounds[:, :1], tags.shape[1])], dim=1)
        stops = bounds.flip(1).cummin(1).values.flip(1)  # the first bound behind every step
        return starts, stops, types


@register("metric", "entity_f1")
class EntityF1(OfEntities):
    meaning = (
        "the harmonic mean of the precision and recall of entities over all examples together (micro), as conlleval "
        "and seqeval count them: correct with the exact span and type"
    )
    quoted = 0

    def value(self, sums: Tensor) -> Tensor:
        both, wanted, found = sums.unbind(-1)
        return divided(2 * both, wanted + found)


@register("metric", "entity_precision")
class EntityPrecision(OfEntities):
    meaning = "the share of the predicted entities that are correct, with the exact span and type"

    def value(self, sums: Tensor) -> Tensor:
        return divided(sums[..., 0], sums[..., 2])


@register("metric", "entity_recall")
class EntityRecall(OfEntities):
    meaning = "the share of the entities that are predicted, with the exact span and type"

    def value(self, sums: Tensor) -> Tensor:
        return divided(sums[..., 0], sums[..., 1])
