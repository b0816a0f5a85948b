"""A metric is a function of summed statistics of examples.

    @register("metric", "near")
    class Near(Metric):
        direction = "max"
        meaning = "the share of values within 0.1 of what was wanted"

        def rows(self, batch: HeadBatch) -> Tensor:
            wanted, found, weight = batch.numbers()  # (B, N, D) twice, (B, N, 1)
            near = ((found - wanted).abs() < 0.1) * weight
            return torch.stack([near.sum((1, 2)), (torch.ones_like(wanted) * weight).sum((1, 2))], dim=1)  # (B, 2)

``rows`` gives every example a few numbers, ``value`` turns their sum into one. So batches merge by addition, processes
by an all-reduce of the sums (every example counts once), and a confidence interval is a resampling of the rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from composer.core.signals import Field, Signal, Timed
from composer.core.target import Target

Direction = Literal["min", "max"]


@dataclass(frozen=True, eq=False)
class HeadBatch:
    """A batch as one head saw it, on the CPU.

    losses, weight: what each step, (B, T), or row, (B,), cost in nats, and how much it counts; float64
    target, found: what was wanted, and what the head gave instead
    given: what the graph reads and does not generate
    show: a text a row, for signals like the target
    """

    field: Field
    losses: Tensor
    weight: Tensor
    target: Signal
    found: Signal
    given: Mapping[str, Signal]
    show: Callable[[Signal], list[str]]

    def first(self, rows: int) -> HeadBatch:
        """So many rows of it."""
        cut = {name: first(getattr(self, name), rows) for name in ("losses", "weight", "target", "found", "given")}
        return replace(self, **cut)

    @cached_property
    def wanted_texts(self) -> list[str]:
        return self.show(self.target)

    @cached_property
    def found_texts(self) -> list[str]:
        return self.show(self.found)

    @cached_property
    def counted(self) -> Tensor:
        """Where anything counts, in the shape of ``weight``."""
        return self.weight > 0

    @cached_property
    def counted_rows(self) -> Tensor:
        """(B,), 1 for the rows in which anything counts."""
        return by_row(self.counted).any(1).double()

    @cached_property
    def right(self) -> Tensor:
        """1 where a token, class or tag that counts was found, else 0; in the shape of ``weight``."""
        return ((self.found.values == self.target.values) & self.counted).double()

    def weighted(self, values: Tensor) -> Tensor:
        """(B,), the sum of each row's values by their weight. Nothing of a value that does not count gets in."""
        return by_row(torch.where(self.counted, values.double(), 0.0) * self.weight).sum(1)

    def numbers(self) -> tuple[Tensor, Tensor, Tensor]:
        """Wanted and found, (B, N, D), zero where nothing counts, and their weights, (B, N, 1)."""
        counts = self.counted[..., None]
        wanted, found = (torch.where(counts, s.values.double(), 0.0) for s in (self.target, self.found))
        if not isinstance(self.target, Timed):
            return wanted[:, None], found[:, None], self.weight[:, None, None]
        return wanted, found, self.weight[..., None]


def first(tree: Any, rows: int) -> Any:
    """The first rows of every tensor of a tree."""
    return pytree.tree_map(lambda leaf: leaf[:rows], tree)


def by_row(values: Tensor) -> Tensor:
    """(B, N) of (B,) or (B, T)."""
    return values.reshape(len(values), values.shape[1:].numel())


class Metric(ABC):
    """One number about what a head found, made for the head's target. Registered under "metric", by its name.

    direction: whether less or more of it is better
    meaning: what it is, in a sentence
    quoted: the place of this metric among those that a person would quote of a run, the lowest first; None: never
    whole: whether it is of what the graph generates by itself, where the head decodes, rather than of each step given
        the true ones before it
    width: how many statistics a row has, S
    """

    direction: ClassVar[Direction]
    meaning: ClassVar[str]
    quoted: ClassVar[int | None] = None
    whole: ClassVar[bool] = False
    width: int = 2

    def __init__(self, target: Target) -> None:
        self.target = target

    @abstractmethod
    def rows(self, seen: HeadBatch) -> Tensor:
        """The statistics, (B, S) float64, of a batch."""

    def value(self, sums: Tensor) -> Tensor:
        """Of summed statistics, (..., S) -> (...); nan where there is nothing to divide by."""
        return ratio(sums)


def ratio(sums: Tensor) -> Tensor:
    """The first statistic over the second; a share of nothing is nan."""
    return divided(sums[..., 0], sums[..., 1])


def divided(part: Tensor, whole: Tensor) -> Tensor:
    return torch.where(whole > 0, part / whole, torch.nan)
