"""Classes: one of several, or several at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from composer.core.problems import Invalid
from composer.core.registry import register
from composer.core.signals import Field, Signal, Vec
from composer.data.codecs import ClassCodec, FittedCodec, Place, Reread, unseen
from composer.data.fields.field_type import Cells, FieldKeys, FieldType
from composer.data.packed_rows import PackedRows, Packer
from composer.data.tables import Column


@register("field", "class")
class Class(FieldType):
    """One of the classes that occur in the training split."""

    def __init__(self, key: FieldKeys, *, column: Column) -> None:
        super().__init__(key, {"column": column}, ClassCodec())

    def value(self, cells: Cells) -> str:
        return cells.text()


@register("field", "classes")
class Classes(FieldType):
    """Any number of classes at once, as zeros and ones: the topics of a text.

    separator: stands between the classes in a cell that is no list
    """

    def __init__(self, key: FieldKeys, *, column: Column, separator: str = ",") -> None:
        if not separator:
            raise Invalid(key("separator"), "is empty. Name what stands between two classes, e.g. ','.")
        self.separator = separator
        super().__init__(key, {"column": column}, ClassesCodec())

    def value(self, cells: Cells) -> list[str]:
        value = cells.value()
        if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
            return list(value)
        return [name.strip() for name in cells.text().split(self.separator) if name.strip()]


class ClassesCodec(FittedCodec):
    """Lists of class names as vectors of zeros and ones."""

    def __init__(self) -> None:
        self.names: tuple[str, ...]

    @property
    def field(self) -> Field:
        return Field("vec", dim=len(self.names), names=self.names)

    def learn(self, values: Reread) -> None:
        self._know(sorted({name for value in values(None) for name in value}))

    def _know(self, names: list[str]) -> None:
        self.names = tuple(names)
        self.ids = {name: i for i, name in enumerate(names)}

    def packer(self) -> Packer:
        return Packer(torch.float32, (len(self.names),))

    def encode(self, values: list[Any], place: Place) -> list[Tensor]:
        rows = []
        for i, names in enumerate(values):
            row = torch.zeros(1, len(self.names))
            for name in names:
                if name not in self.ids:
                    raise unseen("label", name, self.names, place(i))
                row[0, self.ids[name]] = 1.0
            rows.append(row)
        return rows

    def parse(self, text: str) -> list[str]:
        return [name.strip() for name in text.split(",") if name.strip()]

    def signal(self, packed: PackedRows, rows: Tensor) -> Signal:
        return Vec(packed.values[rows])

    def show(self, signal: Signal) -> list[str]:
        rows = signal.values.tolist()
        return [", ".join(name for name, share in zip(self.names, row, strict=True) if share > 0.5) for row in rows]

    def state(self) -> dict[str, Any]:
        return {"names": list(self.names)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._know(list(state["names"]))
