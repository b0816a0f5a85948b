"""Numbers: one, a vector of several columns, or a sequence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from composer.core.problems import Invalid
from composer.core.registry import register
from composer.data.codecs.number_codec import NumberCodec
from composer.data.fields.field_type import Cells, FieldKeys, FieldType
from composer.data.layout.cutting import is_number
from composer.data.layout.numerals import unfit
from composer.data.tables.table import Column, Columns

#: What stands for a missing number.
Fill = Literal["mean"] | None


class Numbers(FieldType):
    """Numbers of the cells of one parameter."""

    codec: NumberCodec
    head: ClassVar[str | None] = "gaussian"

    def __init__(
        self, key: FieldKeys, columns: Mapping[str, Column | Columns | None], codec: NumberCodec, fill: Fill
    ) -> None:  # fmt: skip
        if fill is not None and not codec.normalise:
            raise Invalid(key("fill"), "needs normalise: true, with which the mean is learned.")
        super().__init__(key, columns, codec)
        self.fill = fill is not None

    def value(self, cells: Cells) -> list[Any]:
        return cells.numbers(next(iter(cells.cells)), fill=self.fill)

    def written(self, value: Any) -> Any:
        """The numbers for JSON, which has no NaN."""
        return [None if math.isnan(number) else number for number in value]


@register("field", "number")
class Number(Numbers):
    """A number, as a vector of width 1.

    normalise: standardise to mean 0 and standard deviation 1 over the training split
    fill: mean reads a missing number as the mean of the training split. None: such a row is a bad row
    """

    def __init__(self, key: FieldKeys, *, column: Column, normalise: bool = True, fill: Fill = None) -> None:
        super().__init__(key, {"column": column}, NumberCodec(1, normalise=normalise), fill)

    def recognise(self, cell: str) -> bool | None:
        return is_number(cell)

    def written(self, value: Any) -> Any:
        return super().written(value)[0]


@register("field", "vector")
class Vector(Numbers):
    """The numbers of several columns as one vector."""

    def __init__(self, key: FieldKeys, *, columns: Columns, normalise: bool = True, fill: Fill = None) -> None:
        if not columns:
            raise Invalid(key("columns"), "names 0 columns; name one.")
        super().__init__(key, {"columns": columns}, NumberCodec(len(columns), normalise=normalise), fill)


@register("field", "sequence")
class Sequence(Numbers):
    """Numbers step by step: those of one ``column``, or the ``columns``, each a step of one number.

    A cell of ``column`` holds the numbers of a sequence, as a list or as a text ('1.5 2 4'); the steps of a sequence of
    vectors are lists, or have semicolons between ('1 2; 3 4').
    """

    head = None

    def __init__(
        self, key: FieldKeys, *, column: Column | None = None, columns: Columns | None = None, normalise: bool = True,
        fill: Fill = None,
    ) -> None:  # fmt: skip
        if columns == []:
            raise Invalid(key("columns"), "names 0 columns; name one.")
        if (column is None) == (columns is None):
            message = "name the column that holds the numbers of a sequence, or the columns of its steps."
            raise Invalid(key("column"), message)
        if fill is not None and columns is None:
            raise Invalid(key("fill"), "fills in missing cells of columns, not numbers inside of a cell. Leave it out.")
        codec = NumberCodec(1 if columns is not None else None, sequence=True, normalise=normalise)
        super().__init__(key, {"column": column, "columns": columns}, codec, fill)

    def value(self, cells: Cells) -> list[list[float]]:
        if "columns" in cells.cells:
            return [[number] for number in super().value(cells)]
        steps = [_step(step) for step in _steps(cells.value())]
        if not steps or any(not step or len(step) != len(steps[0]) for step in steps):
            raise cells.problem("which is no sequence of numbers. Write 1.5 2 4, or 1 2; 3 4 for steps of two numbers.")
        return steps

    def written(self, value: Any) -> Any:
        return super().written([step[0] for step in value]) if len(value[0]) == 1 else value


def _steps(cell: Any) -> list[Any]:
    """The steps in a cell: items of a list, pieces between semicolons, or single numbers."""
    if not isinstance(cell, str):
        return list(cell) if isinstance(cell, list | tuple) else [cell]
    return cell.split(";") if ";" in cell else cell.replace(",", " ").split()


def _step(step: Any) -> list[float]:
    """The numbers of a step; none where one of them cannot be learned from."""
    words = step.replace(",", " ").split() if isinstance(step, str) else step if isinstance(step, list) else [step]
    try:
        found = [float(word) for word in words]
    except (TypeError, ValueError):
        return []
    return found if all(unfit(number) is None for number in found) else []
