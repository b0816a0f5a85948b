"""The common parts of objectives that make a given field and a target of one text of the source."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import torch
from torch import Tensor

from composer.core.problems import Invalid, did_you_mean, listed
from composer.core.signals import Field, Ids
from composer.data.counter_random import uniform
from composer.data.source import Source, Split
from composer.objectives.objective import Objective

#: Uniform numbers (B, count) for a purpose and a count.
Draw = Callable[[str, int], Tensor]


class TextObjective(Objective):
    """Fields: ``source``, which is given, and ``target``, which is predicted, both made of a sequence of tokens.

    field: the name of the field to read; None: ``target``, ``source`` or any other field, in this order
    """

    running = False  # a word that is hidden in one row may be visible in the next

    def __init__(self, source: Source, field: str | None, seed: int) -> None:
        super().__init__(source)
        self.field, self.seed = token_field(source, field), seed
        self.original = source.fields[self.field]

    def draws(self, split: Split, rows: Tensor, epoch: int) -> Draw:
        """The random numbers of rows. Those of held-out rows are alike in every epoch, so that losses compare."""
        when = epoch if split == "train" else 0
        return lambda purpose, count: uniform(self.seed, f"{split}/{when}/{purpose}", rows, count)

    def read(self, split: Split, rows: Tensor) -> Ids:
        """The original sequences of rows of the source."""
        signal = self.source.batch(split, rows)[self.field]
        assert isinstance(signal, Ids)
        return signal

    def needs(self, wanted: Collection[str]) -> set[str]:
        return {self.field}

    def reveals(self, field: str) -> set[str]:
        """The source is given by design, so it does not count as revealing the target, or the target it."""
        return super().reveals(field) - {"source", "target"}


def token_field(source: Source, name: str | None) -> str:
    """The name of the field to read: ``name``, or else ``target``, ``source`` or any other field, in this order.

    The field must hold token ids with a time axis of its own.
    """
    fields = source.fields
    fit = [n for n, f in fields.items() if f.kind == "ids" and f.is_own_axis(n)]
    if name is None:
        if not fit:
            raise Invalid("type", f"reads a sequence of tokens, but this data has none ({declared(fields)}).")
        return min(fit, key=lambda n: {"target": 0, "source": 1}.get(n, 2))
    if name not in fit:
        found = f"'{name}' is no sequence of tokens of its own" if name in fields else f"the data has no field '{name}'"
        raise Invalid("field", f"{found}.{did_you_mean(name, fit)}  (fields: {declared(fields)})")
    return name


def declared(fields: Mapping[str, Field]) -> str:
    """The fields, with their kinds, for a message."""
    return listed(f"{n}: {f.kind}{f' along {f.axis}' if not f.is_own_axis(n) else ''}" for n, f in fields.items())


def compacted(values: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
    """The kept values of each row, from the left and followed by zeros, (B, T), and their numbers, (B,)."""
    T = values.shape[1]
    places = torch.where(kept, kept.cumsum(1) - 1, T)  # the others go to a last column, which is cut off
    return values.new_zeros(len(values), T + 1).scatter_(1, places, values)[:, :T], kept.sum(1)


def specials(field: Field) -> set[int]:
    """The ids of special tokens, which are no part of a text."""
    return {i for i in (field.start, field.stop, field.blank, *field.contents.special) if i is not None}
