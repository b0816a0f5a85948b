"""The codec of classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from composer.core.problems import Invalid, did_you_mean, listed
from composer.core.signals import Contents, Field, Label, Signal
from composer.data.codecs.codec import Codec, Place, Reread, unseen
from composer.data.packed.packed_rows import PackedRows, Packer, ids_dtype


class NamesCodec(Codec):
    """A codec that learns the names that occur in the training split."""

    names: tuple[str, ...]

    def know(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self.ids = {name: i for i, name in enumerate(self.names)}

    def state(self) -> dict[str, Any]:
        return {"names": list(self.names)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.know(state["names"])


class ClassCodec(NamesCodec):
    """A class: one of the names that occur in the training split.

    weight: the weights of classes in the training loss, by name, or 'balanced': N / (K n_k) for a class that n_k of N
        rows have, K being the number of classes. A class without a weight has the weight 1
    key: the YAML key of the weight, for messages
    column: the column of the classes, for messages
    """

    def __init__(
        self,
        what: str = "label",
        *,
        weight: Literal["balanced"] | Mapping[str, float] | None = None,
        key: str = "weight",
        column: object = None,
    ) -> None:
        self.what, self.weight, self.key, self.column = what, weight, key, column
        self.weights: tuple[float, ...] | None = None  # by class

    @property
    def field(self) -> Field:
        return Field("label", vocabulary=len(self.names), contents=Contents(tokens=self.names))

    def learn(self, values: Reread) -> None:
        counts = Counter(str(value) for value in values(None))
        self.know(sorted(counts))
        if self.weight is not None:
            self.weights = tuple(class_weights(self.weight, counts, self.key))

    def loss_weights(self, packed: PackedRows, rows: Tensor) -> Tensor | None:
        """(B,), the weights of these rows in the training loss; None where all classes weigh the same."""
        return None if self.weights is None else torch.tensor(self.weights)[packed.values[rows].long()]

    def packer(self) -> Packer:
        return Packer(ids_dtype(len(self.names)))

    def encode(self, values: list[Any], place: Place) -> list[list[int]]:
        for i, value in enumerate(values):
            if str(value) not in self.ids:
                raise unseen(self.what, str(value), self.names, place(i), self.column)
        return [[self.ids[str(value)]] for value in values]

    def parse(self, text: str) -> str:
        return text

    def signal(self, packed: PackedRows, rows: Tensor) -> Signal:
        return Label(packed.values[rows].long())

    def show(self, signal: Signal) -> list[str]:
        return [self.names[i] for i in signal.values.tolist()]

    def state(self) -> dict[str, Any]:
        return super().state() | ({"weights": list(self.weights)} if self.weights is not None else {})

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.weights = tuple(state["weights"]) if "weights" in state else None


def class_weights(
    weight: Literal["balanced"] | Mapping[str, float], counts: Mapping[str, int], key: str
) -> Iterator[float]:
    """The weight of every class in the training loss, in the order of their names."""
    if weight == "balanced":
        total = sum(counts.values())
        yield from (total / (len(counts) * counts[name]) for name in sorted(counts))
        return
    assert not isinstance(weight, str)
    for name in weight:
        if name not in counts:
            message = f"'{name}' is no class of the training split.{did_you_mean(name, counts)}"
            raise Invalid(f"{key}.{name}", f"{message}  (classes: {listed(sorted(counts))})")
    yield from (float(weight.get(name, 1.0)) for name in sorted(counts))
