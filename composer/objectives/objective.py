"""The protocol of an objective, and the objectives by name."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from composer.core.binding import bind_entry
from composer.core.problems import ConfigError, Invalid, Locate
from composer.core.signals import Field, Ids, Signal, Timed
from composer.data.source import RowNumbers, Source, Split, WrittenRow


@dataclass(frozen=True, eq=False)
class Origin:
    """The rows of the data that a batch was made from: their split, and their numbers, (B,)."""

    split: Split
    rows: Tensor


@dataclass(frozen=True, eq=False)
class Batch:
    """A batch of examples.

    signals: every field by its name, inputs and targets
    weights: the weight of each step of a target in the loss, (B, T), 0 in the padding. Every real step or row of a
        target that is not listed has the weight 1
    origin: the rows of the data, from which evaluation reads more than the signals hold; None for typed rows
    """

    signals: dict[str, Signal]
    weights: dict[str, Tensor] = field(default_factory=dict)
    origin: Origin | None = None

    @property
    def rows(self) -> int:
        return next(iter(self.signals.values())).batch

    def weight(self, target: str) -> Tensor:
        """The weight of each step, (B, T), or row, (B,), of a target in the loss."""
        if target in self.weights:
            return self.weights[target]
        signal = self.signals[target]
        mask = signal.mask if isinstance(signal, Timed) else None
        if mask is not None:
            return mask.float()
        shape = signal.values.shape[: 2 if isinstance(signal, Timed) else 1]
        return torch.ones(shape, device=signal.values.device)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        return replace(pytree.tree_map(lambda leaf: leaf.to(*args, **kwargs), self), origin=self.origin)


pytree.register_dataclass(Batch, field_names=["signals", "weights"], drop_field_names=["origin"])


class Objective:
    """The base class of objectives: the fields and examples of the source, unchanged (supervised learning).

    The constructor parameter before the ``*`` is the source, the parameters after it are the keys of the YAML. Every
    random draw for a row is a function of the seed, the split, the row number and the epoch, and does not depend on
    the rest of the batch.
    """

    #: The fields that the graph predicts, which the noise of training leaves as they are. Set with the compiled graph.
    predicted: Collection[str] = ()

    #: The fields that are another field read backwards.
    reversed_fields: frozenset[str] = frozenset()

    def __init__(self, source: Source) -> None:
        self.source = source

    @property
    def fields(self) -> dict[str, Field]:
        """The fields of every batch. The graph is compiled over these fields."""
        return self.source.fields

    @property
    def running(self) -> bool:
        """Whether every row of a split continues the row before it, so that a state can be carried over."""
        return self.source.running

    @property
    def rows_by_epoch(self) -> bool:
        """Whether the rows of the training split differ from epoch to epoch; see ``Source``."""
        return self.source.rows_by_epoch

    def size(self, split: Split) -> int:
        return self.source.size(split)

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        """The approximate number of steps of these rows, for every field with a time axis of its own.

        Batching sorts by these lengths and limits their sum. A field that is made of another has the length of that
        field of the source; where corruption changes a length at random, this is the length of the original.
        """
        found = self.source.lengths(split, rows)
        lengths: dict[str, Tensor] = {}
        for name, known in self.fields.items():
            origins = sorted(self.needs({name}) & found.keys())
            if known.timed and known.is_own_axis(name) and origins:
                lengths[name] = found[origins[0]]
        return lengths

    def source_rows(self, split: Split, rows: RowNumbers) -> Tensor:
        """(B,), the row of the source that each of these rows is made from."""
        return torch.as_tensor(rows, dtype=torch.long)

    def batch(self, split: Split, rows: RowNumbers, epoch: int = 0) -> Batch:
        """These examples, with the random draws of this epoch."""
        fields = self.fields
        signals = {name: signal for name, signal in self.source.batch(split, rows).items() if name in fields}
        weights = blank_weights(signals, fields) | self.source.step_weights(split, rows)
        return Batch(signals, weights, Origin(split, torch.as_tensor(rows, dtype=torch.long)))

    def training_batch(self, split: Split, rows: RowNumbers, epoch: int) -> Batch:
        """These examples for training, which may add noise that evaluation does not have."""
        return self.batch(split, rows, epoch)

    def show(self, field: str, signal: Signal) -> list[str]:
        """The rows of a signal as texts, one for each row."""
        return self.source.show(field, signal)

    def shown_once(self, fields: Iterable[str]) -> list[str]:
        """The fields to show to a person: of several that are made of the same column of a file, the first."""
        wanted, repeats = list(fields), self.source.repeats
        return [name for name in wanted if not repeats.get(name, set()) & set(wanted)]

    def references(self, field: str, origin: Origin) -> list[list[str]] | None:
        """The texts of a field in some rows with the words of the user's files; see ``Source.references``."""
        return self.source.references(field, origin.split, origin.rows) if field in self.source.fields else None

    def written(self, split: Split) -> Iterator[WrittenRow] | None:
        """The rows of a split as the user's files have them, in order; None where the model reads something else."""
        return self.source.written(split)

    def needs(self, wanted: Collection[str]) -> set[str]:
        """The fields of the source that these fields of a batch are made from."""
        return set(wanted)

    def reveals(self, field: str) -> set[str]:
        """The other fields of a batch that this field reveals: a head that predicts one of them may not read it.

        By default, fields that are made from a common field of the source, or from fields of a common column of the
        user's files, reveal each other. A field that the source does not have, and of which ``needs`` does not say
        what it is made from, may be made from anything. An objective that gives a field away by design, as masked
        tokens do with the corrupted text, leaves it out.
        """
        own = self.made_from(field)
        revealed = own | self._revealed_by_column(own)
        return {other for other in self.fields if other != field and revealed & self.made_from(other)}

    def tells(self, field: str) -> set[str]:
        """The name of ``reveals`` in earlier versions."""
        warnings.warn("Objective.tells is now Objective.reveals.", DeprecationWarning, stacklevel=2)
        return Objective.reveals(self, field)

    def __init_subclass__(cls) -> None:
        if "tells" in vars(cls) and "reveals" not in vars(cls):
            warnings.warn(f"{cls.__name__}.tells is now called reveals.", DeprecationWarning, stacklevel=2)
            cls.reveals = vars(cls)["tells"]  # type: ignore[method-assign]

    def _revealed_by_column(self, names: set[str]) -> set[str]:
        """The fields of the source that are made from a column of some others of its fields.

        Two sequences with time axes of their own are left out: one is generated from the other, as in an autoencoder.
        """
        axes = {name: known.axis or name for name, known in self._given.items() if known.timed}
        related = self.source.related
        return {
            other
            for name in names
            for other in related.get(name, set()) & self._given.keys()
            if not (name in axes and other in axes and axes[name] != axes[other])
        }

    @cached_property
    def _given(self) -> Mapping[str, Field]:
        """The fields of the source, which takes a while to describe many of them."""
        return self.source.fields

    def made_from(self, field: str) -> set[str]:
        """The fields of the source that a field of a batch may be made from, at its worst."""
        needs = self.needs({field})
        return needs if needs <= self._given.keys() else set(self._given)

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        """A signal of values, or of texts that a person typed: the inverse of ``show``."""
        return self.source.encode(field, values)

    def unknown(self, field: str, value: Any) -> list[str]:
        """The words or characters of a value that are not in the vocabulary."""
        return self.source.unknown(field, value)

    def asked(self, signals: Mapping[str, Signal]) -> dict[str, Tensor]:
        """The steps to predict for inputs that a person typed, as weights of the targets."""
        return {}


def blank_weights(signals: Mapping[str, Signal], fields: Mapping[str, Field]) -> dict[str, Tensor]:
    """Weights of 0 for the steps at which a target is <blank>, where there is nothing to predict."""
    weights = {}
    for name, described in fields.items():
        signal = signals.get(name)
        if described.blank is not None and isinstance(signal, Ids):
            weights[name] = (signal.filled(described.blank) != described.blank).float()
    return weights


def own_sequence(source: Source) -> Field:
    """The field ``target`` of a source, which must be a sequence that can be predicted from its own earlier steps."""
    field = source.fields.get("target")
    if field is None or not field.timed or not field.is_own_axis("target"):
        found = "none" if field is None else f"one value a step of '{field.axis}'" if field.timed else f"a {field.kind}"
        raise Invalid("type", f"predicts a sequence from itself, so 'target' must be one, but this data has {found}.")
    return field


def load_objective(config: Mapping[str, Any], source: Source, locate: Locate = lambda path: "") -> Objective:
    """Build the objective of a config's ``objective`` section over this source."""
    try:
        built = bind_entry("objective", config, locate)(source)
        _ = built.fields
    except Invalid as error:
        raise ConfigError([error.problem("objective")], locate) from error
    return built
