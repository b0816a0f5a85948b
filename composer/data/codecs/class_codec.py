"""The codec of classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from composer.core.problems import Invalid, did_you_mean, listed
from composer.core.signals import Contents, Field, Signal
from composer.data.codecs.codec import Codec, Place, Reread, unseen
from composer.data.packed.packed_rows import PackedRows


class NamesCodec(Codec):
    """A codec that learns the names that occur in the training split.

    what: what a name is called in messages
    column: the column of the names, for messages
    """

    names: tuple[str, ...]

    def __init__(self, what: str, column: object) -> None:
        self.what, self.column = what, column

    def know(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self.ids = {name: i for i, name in enumerate(self.names)}

    def number(self, name: str, place: Place, row: int) -> int:
        """The number of a name of a row; a name that was not learned is an error."""
        if name not in self.ids:
            raise unseen(self.what, name, self.names, place(row), self.column)
        return self.ids[name]

    def state(self) -> dict[str, Any]:
        return {"names": list(self.names)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.know(state["names"])


class ClassCodec(NamesCodec):
    """A class: one of the names that occur in the training split.

    weight: the weights of classes in the training loss, by name, or 'balanced': N / (K n_k) for a class that n_k of N
        rows have, K being the number of classes. A class without a weight has the weight 1
    key: the YAML key of the weight, for messages
    """

    def __init__(
        self,
        what: str = "label",
        *,
        weight: Literal["balanced"] | Mapping[str, float] | None = None,
        key: str = "weight",
        column: object = None,
    ) -> None:
        super().__init__(what, column)
        self.weight, self.key = weight, key
        self.weights: tuple[float, ...] | None = None  # by class

    @property
    def field(self) -> Field:
        return Field("label", vocabulary=len(self.names), contents=Contents(tokens=self.names))

    def learn(self, values: Reread) -> None:
        counts = Counter(str(value) for value in values(None))
        self.know(sorted(counts))
        if self.weight == "balanced":
            self.weights = tuple(counts.total() / (len(counts) * counts[name]) for name in self.names)
        elif isinstance(self.weight, Mapping):
            for name in (name for name in self.weight if name not in counts):
                message = f"'{name}' is no class of the training split.{did_you_mean(name, self.names)}"
                raise Invalid(f"{self.key}.{name}", f"{message}  (classes: {listed(self.names)})")
            self.weights = tuple(float(self.weight.get(name, 1.0)) for name in self.names)

    def loss_weights(self, packed: PackedRows, rows: Tensor) -> Tensor | None:
        """(B,), the weights of these rows in the training loss; None where all classes weigh the same."""
        return None if self.weights is None else torch.tensor(self.weights)[packed.values[rows].long()]

    def encode(self, values: list[Any], place: Place) -> list[list[int]]:
        return [[self.number(str(value), place, row)] for row, value in enumerate(values)]

    def show(self, signal: Signal) -> list[str]:
        return [self.names[i] for i in signal.values.tolist()]

    def state(self) -> dict[str, Any]:
        return super().state() | ({"weights": list(self.weights)} if self.weights is not None else {})

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.weights = tuple(state["weights"]) if "weights" in state else None
