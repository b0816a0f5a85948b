"""Classes: one of several, or several at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from composer.core.block import Scale
from composer.core.problems import Invalid
from composer.core.registry import register
from composer.core.signals import Contents, Field, Signal
from composer.data.codecs.class_codec import ClassCodec, NamesCodec
from composer.data.codecs.codec import Place, Reread
from composer.data.codecs.number_codec import NumberCodec
from composer.data.codecs.words_codec import split_words
from composer.data.fields.field_type import Cells, FieldKeys, FieldType
from composer.data.packed.packed_rows import PackedRows
from composer.data.tables.table import Column

#: The weight of rows in the training loss: by class, or the name or number of a column.
ClassWeight = Literal["balanced"] | dict[str, Scale] | Column


@register("field", "class")
class Class(FieldType):
    """One of the classes that occur in the training split.

    weight: of the rows in the training loss: balanced (rare classes weigh more, so that all classes weigh the same
        together), numbers by class, {yes: 3, no: 1}, or the column of the weights. None: every row weighs 1
    """

    codec: ClassCodec

    def __init__(self, key: FieldKeys, *, column: Column, weight: ClassWeight | None = None) -> None:
        self.weight_column = weight if isinstance(weight, str | int) and weight != "balanced" else None
        by_class = None if self.weight_column is not None else weight
        shown = None if column == "auto" else column  # the place of a file tells its class
        codec = ClassCodec(weight=by_class, key=key("weight"), column=shown)  # type: ignore[arg-type]
        super().__init__(key, {"column": column}, codec)

    def value(self, cells: Cells) -> str:
        return cells.label()

    def recognise(self, cell: str) -> bool | None:
        return cell in self.codec.ids

    def companions(self, name: str) -> dict[str, FieldType]:
        """The field of the weights, where a column has them."""
        if self.weight_column is None:
            return {}
        return {f"{name}_weight": RowWeight(FieldKeys(column=self.key("weight")), column=self.weight_column)}

    def loss_weights(self, name: str, packed: Mapping[str, PackedRows], rows: Tensor) -> Tensor | None:
        if self.weight_column is not None:
            return packed[f"{name}_weight"].values[rows][:, 0]
        return self.codec.loss_weights(packed[name], rows)


class RowWeight(FieldType):
    """The weight of every row in the training loss of another field: a number, not below 0."""

    codec: NumberCodec

    def __init__(self, key: FieldKeys, *, column: Column) -> None:
        super().__init__(key, {"column": column}, NumberCodec(1, normalise=False))

    def value(self, cells: Cells) -> list[float]:
        weight = cells.number()
        if weight < 0:
            raise cells.problem("which is below 0. Give a weight of 0 or more.")
        return [weight]


@register("field", "classes")
class Classes(FieldType):
    """Any number of classes at once, as zeros and ones: the topics of a text.

    separator: stands between the classes in a cell that is no list
    """

    head = "bernoulli"

    def __init__(self, key: FieldKeys, *, column: Column, separator: str = ",") -> None:
        if not separator:
            raise Invalid(key("separator"), "is empty. Name what stands between two classes, e.g. ','.")
        self.separator = separator
        super().__init__(key, {"column": column}, ClassesCodec(column, separator))

    def value(self, cells: Cells) -> list[str]:
        return cells.words(self.separator)


class ClassesCodec(NamesCodec):
    """Lists of class names as vectors of zeros and ones.

    separator: stands between the names in a text
    """

    def __init__(self, column: object, separator: str) -> None:
        super().__init__("label", column)
        self.separator = separator

    @property
    def field(self) -> Field:
        return Field("vec", dim=len(self.names), contents=Contents(names=self.names))

    def learn(self, values: Reread) -> None:
        self.know(sorted({name for value in values(None) for name in value}))

    def encode(self, values: list[Any], place: Place) -> list[Tensor]:
        rows = torch.zeros(len(values), 1, len(self.names))
        for row, names in enumerate(values):
            rows[row, 0, [self.number(name, place, row) for name in names]] = 1.0
        return list(rows)

    def parse(self, text: str) -> list[str]:
        return split_words(text, self.separator)

    def show(self, signal: Signal) -> list[str]:
        rows = signal.values.tolist()
        between = ", " if self.separator == "," else self.separator
        return [between.join(name for name, share in zip(self.names, row, strict=True) if share > 0.5) for row in rows]
