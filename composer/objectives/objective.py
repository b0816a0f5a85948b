"""The protocol of an objective, and the objectives by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from composer.core.binding import bind_entry
from composer.core.problems import ConfigError, Invalid, Locate, Problem
from composer.core.signals import Field, Ids, Signal, Timed
from composer.data.source import RowNumbers, Source, Split


@dataclass(frozen=True, eq=False)
class Batch:
    """Examples side by side.

    signals: every field, what is given and what is to be predicted
    weights: how much each step of a target counts, (B, T), 0 in the padding; every real step or row counts 1 where a
        target is not among them
    """

    signals: dict[str, Signal]
    weights: dict[str, Tensor] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return next(iter(self.signals.values())).batch

    def weight(self, target: str) -> Tensor:
        """How much each step, (B, T), or row, (B,), of a target counts."""
        if target in self.weights:
            return self.weights[target]
        signal = self.signals[target]
        mask = signal.mask if isinstance(signal, Timed) else None
        if mask is not None:
            return mask.float()
        shape = signal.values.shape[: 2 if isinstance(signal, Timed) else 1]
        return torch.ones(shape, device=signal.values.device)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        return pytree.tree_map(lambda leaf: leaf.to(*args, **kwargs), self)


pytree.register_dataclass(Batch)


class Objective:
    """Supervised learning, of which the others are variations: the fields and examples of the source as they are.

    The parameter before the ``*`` of the constructor is the source, those after it are the YAML's keys. What is drawn
    at random is a function of the seed, the split, the row and the epoch, whatever the batch it stands in.
    """

    def __init__(self, source: Source) -> None:
        self.source = source

    @property
    def fields(self) -> dict[str, Field]:
        """What every batch has: the graph is compiled over these."""
        return self.source.fields

    @property
    def running(self) -> bool:
        """Whether every row of a split goes on where the one before it ends."""
        return self.source.running

    def size(self, split: Split) -> int:
        return self.source.size(split)

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        """About how many steps each of these rows has, for every field with a time axis of its own: for batches that
        keep to a budget. A field whose length is drawn has that of what it is made from."""
        return self.source.lengths(split, rows)

    def batch(self, split: Split, rows: RowNumbers, epoch: int = 0) -> Batch:
        """These examples; what is drawn anew every epoch is drawn for this one."""
        signals = self.source.batch(split, rows)
        return Batch(signals, blank_weights(signals, self.fields))

    def training_batch(self, split: Split, rows: RowNumbers, epoch: int) -> Batch:
        """These examples as training reads them, which may be with noise that evaluation does without."""
        return self.batch(split, rows, epoch)

    def show(self, field: str, signal: Signal) -> list[str]:
        """What a signal says, a text a row."""
        return self.source.show(field, signal)

    def needs(self, wanted: Collection[str]) -> set[str]:
        """The source's fields that these fields of a batch are made from."""
        return set(wanted)

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        """Values, or texts that a person typed, side by side: the way back from ``show``."""
        return self.source.encode(field, values)

    def unknown(self, field: str, value: Any) -> list[str]:
        """What of a value the vocabulary does not have."""
        return self.source.unknown(field, value)

    def asked(self, signals: Mapping[str, Signal]) -> dict[str, Tensor]:
        """Which steps are to be predicted for what a person typed, as a batch's weights say it."""
        return {}


def blank_weights(signals: Mapping[str, Signal], fields: Mapping[str, Field]) -> dict[str, Tensor]:
    """No weight for the steps where a target says that there is nothing to predict."""
    weights = {}
    for name, described in fields.items():
        signal = signals.get(name)
        if described.blank is not None and isinstance(signal, Ids):
            weights[name] = (signal.filled(described.blank) != described.blank).float()
    return weights


def own_sequence(source: Source) -> Field:
    """The target of a source that an objective can predict step by step from nothing but its own steps."""
    field = source.fields.get("target")
    if field is None or not field.timed or field.axis not in (None, "target"):
        found = "none" if field is None else f"one value a step of '{field.axis}'" if field.timed else f"a {field.kind}"
        raise Invalid("type", f"predicts a sequence from itself, so 'target' must be one, but this data has {found}.")
    return field


def load_objective(config: Mapping[str, Any], source: Source, locate: Locate = lambda path: "") -> Objective:
    """The objective that a config's ``objective`` section names, over this source."""
    try:
        built = bind_entry("objective", config, locate)(source)
        _ = built.fields
    except Invalid as error:
        path = f"objective.{error.parameter}" if error.parameter else "objective"
        raise ConfigError([Problem(path, error.message)], locate) from error
    return built
