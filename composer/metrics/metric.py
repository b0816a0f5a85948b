"""A metric is a function of summed statistics of examples.

    @register("metric", "near")
    class Near(Metric):
        direction = "max"
        meaning = "the share of values within 0.1 of the target"

        def rows(self, batch: HeadBatch) -> Tensor:
            wanted, found, weight = batch.numbers()  # (B, N, D) twice, (B, N, 1)
            near = ((found - wanted).abs() < 0.1) * weight
            return torch.stack([near.sum((1, 2)), (torch.ones_like(wanted) * weight).sum((1, 2))], dim=1)  # (B, 2)

``rows`` computes a few statistics of every example, ``value`` computes the metric from their sum. So batches are
merged by addition, processes by an all-reduce of the sums (every example counts once), and a bootstrap confidence
interval resamples the rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from composer.core.bounds import Bounds
from composer.core.capabilities import offers
from composer.core.signals import Field, Ids, Signal, Timed
from composer.core.target import Target, log_likelihoods
from composer.objectives import Origin

Direction = Literal["min", "max"]

#: The possible values of a share, and of an error.
SHARE = (0.0, 1.0)
ERROR = (0.0, math.inf)

#: Texts of some rows of the data, several for a row with several references; see ``Source.references``.
Texts = Callable[[Origin], list[list[str]] | None]

#: Stands for each letter of a predicted <unk> where texts are compared. No text has this character, so that <unk>
#: matches no word. It is as long as the printed <unk> and cut by BLEU in the same way: a score is that of the output.
UNMATCHED = "\uffff"


@dataclass(frozen=True, eq=False)
class HeadBatch:
    """The targets, predictions and losses of one head for a batch, on the CPU.

    losses, weight: the loss in nats and the weight of each step, (B, T), or row, (B,); float64
    target, found: the target and the prediction
    given: the inputs of the graph, by the names of their fields
    show: turns a signal like the target into texts, one for each row
    origin: the rows of the data; None for rows that come from no data
    texts: the texts of the target in rows of the data, as the user's files have them
    bounds: the calibrated bounds of the head's predictions; None in training
    head, output: the head and its output, of which ``log_likelihoods`` is computed; None where there is no such output,
        as after autoregressive decoding
    """

    field: Field
    losses: Tensor
    weight: Tensor
    target: Signal
    found: Signal
    given: Mapping[str, Signal]
    show: Callable[[Signal], list[str]]
    origin: Origin | None = None
    texts: Texts | None = None
    bounds: Bounds | None = None
    head: Any = None
    output: Signal | None = None

    def first(self, rows: int) -> HeadBatch:
        """The same for the first ``rows`` rows only."""
        return self.chosen(slice(rows))

    def chosen(self, rows: slice | Tensor) -> HeadBatch:
        """The same for some rows only."""
        cut = {name: chosen(getattr(self, name), rows) for name in ("losses", "weight", "target", "found", "given")}
        origin = None if self.origin is None else replace(self.origin, rows=self.origin.rows[rows])
        return replace(self, **cut, origin=origin, output=None if self.output is None else chosen(self.output, rows))

    @cached_property
    def references(self) -> list[list[str]]:
        """For every row, the texts that are right: those of the user's files, with words that are no tokens."""
        kept = self.texts(self.origin) if self.texts is not None and self.origin is not None else None
        if kept is not None and all(kept):
            return kept
        shown = self.show(self.target)
        return [own or [text] for own, text in zip(kept or [[]] * len(shown), shown, strict=True)]

    @cached_property
    def log_likelihoods(self) -> Tensor | None:
        """(B, T, V) or (B, V), the log-probability of every token or class; None where the head gives none.

        Computed when a metric first asks for it: of a large vocabulary it is larger than all else in a batch.
        """
        found = None if self.output is None else log_likelihoods(self.head, self.output)
        return None if found is None else found.cpu()

    @cached_property
    def deviation(self) -> Tensor | None:
        """(B, N, D), the standard deviations of the predictions as the head gives them; None where it gives none."""
        if self.output is None or not offers(self.head, "deviation"):
            return None
        found = self.head.deviation(self.output.values).cpu().double()
        return found[:, : self.target.time] if isinstance(self.target, Timed) else found[:, None]

    @cached_property
    def wanted_texts(self) -> list[str]:
        """The first reference of every row."""
        return [texts[0] for texts in self.references]

    @cached_property
    def found_texts(self) -> list[str]:
        """The predictions, to be compared. A predicted <unk> matches nothing, not even "<unk>" in a file."""
        texts = self.show(self.found)
        if not isinstance(self.found, Ids):
            return texts
        known = self.field.contents
        special = set(known.special) - {self.field.start, self.field.stop}
        if not special:
            return texts
        strange = torch.isin(self.found.filled(-1), torch.tensor(sorted(special))).any(1).tolist()
        names = [known.tokens[i] for i in special] if known.tokens is not None else []
        return [_unmatched(text, names) if some else text for text, some in zip(texts, strange, strict=True)]

    @cached_property
    def counted(self) -> Tensor:
        """Where the weight is not 0, in the shape of ``weight``."""
        return self.weight > 0

    @cached_property
    def counted_rows(self) -> Tensor:
        """(B,), 1 for rows with any weight, else 0."""
        return by_row(self.counted).any(1).double()

    @cached_property
    def right(self) -> Tensor:
        """1 where a token, class or tag with a weight was predicted correctly, else 0; in the shape of ``weight``."""
        return ((self.found.values == self.target.values) & self.counted).double()

    def weighted(self, values: Tensor) -> Tensor:
        """(B,), the weighted sum of each row's values. Values of weight 0 are ignored, even if they are nan or inf."""
        return by_row(torch.where(self.counted, values.double(), 0.0) * self.weight).sum(1)

    def averaged(self, values: Tensor) -> Tensor:
        """(B, 2), the weighted sum of each row's values, and the sum of their weights."""
        return torch.stack([self.weighted(values), by_row(self.weight).sum(1)], dim=1)

    def numbers(self) -> tuple[Tensor, Tensor, Tensor]:
        """Target and prediction, (B, N, D), zero where the weight is 0, and their weights, (B, N, 1)."""
        counts = self.counted[..., None]
        wanted, found = (torch.where(counts, s.values.double(), 0.0) for s in (self.target, self.found))
        if not isinstance(self.target, Timed):
            return wanted[:, None], found[:, None], self.weight[:, None, None]
        return wanted, found, self.weight[..., None]


def _unmatched(text: str, names: list[str]) -> str:
    for name in names:
        text = text.replace(name, f"{name[0]}{UNMATCHED * (len(name) - 2)}{name[-1]}")
    return text


def chosen(tree: Any, rows: slice | Tensor) -> Any:
    """Some rows of every tensor of a pytree."""
    return pytree.tree_map(lambda leaf: leaf[rows], tree)


def by_row(values: Tensor) -> Tensor:
    """(B,) or (B, T) to (B, N), with N = 1 or T."""
    return values.reshape(len(values), values.shape[1:].numel())


class Metric(ABC):
    """One number about the predictions of a head. Constructed with the head's target; registered under "metric".

    direction: "min" where a lower value is better, "max" where a higher value is better
    meaning: a sentence that describes the metric
    quoted: the rank of this metric as the headline of a run, the lowest first; None: never the headline
    nominal: the value that is right, of a metric of which neither less nor more is better
    whole: True for a metric of autoregressively decoded sequences, where the head decodes; False for a metric of
        predictions with teacher forcing
    possible: the lowest and the highest value that the metric can have, to which its intervals are cut
    width: S, the number of statistics of an example
    """

    direction: ClassVar[Direction]
    meaning: ClassVar[str]
    quoted: ClassVar[int | None] = None
    nominal: ClassVar[float | None] = None
    whole: ClassVar[bool] = False
    possible: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    width: int = 2

    def __init__(self, target: Target) -> None:
        self.target = target

    @abstractmethod
    def rows(self, seen: HeadBatch) -> Tensor:
        """The statistics of every example of a batch, (B, S), float64."""

    def value(self, sums: Tensor) -> Tensor:
        """The metric of summed statistics, (..., S) -> (...); nan where there is nothing to divide by."""
        return ratio(sums)

    def resampled(self, rows: Tensor) -> Tensor:
        """The statistics of all examples, (N, S), as an interval resamples them.

        What the metric finds once on all examples, such as their commonest class, is settled here: found anew in every
        resample, the metric would have a bias there. The value of the sum stays the same.
        """
        return rows

    def signature(self, references: str) -> str | None:
        """How a published figure was computed, in the form of sacreBLEU; None for a metric of one definition.

        references: the number of references of a row, or "var" where rows differ
        """
        return None


def ratio(sums: Tensor) -> Tensor:
    """The first statistic divided by the second; nan where the second is 0."""
    return divided(sums[..., 0], sums[..., 1])


def divided(part: Tensor, whole: Tensor) -> Tensor:
    return torch.where(whole > 0, part / whole, torch.nan)
