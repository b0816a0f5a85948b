"""Attributes of any kind as one vector: several columns, or one column of slots, name[The Mill], food[English].

A numeric attribute becomes one entry of the vector, standardised to mean 0 and standard deviation 1. Any other
attribute is one-hot: an entry for each of its values in the training split, and one entry for all other values.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from composer.core.problems import Invalid, UserError, did_you_mean, listed
from composer.core.registry import register
from composer.core.signals import Field, Signal
from composer.data.codecs.codec import Codec, Place, Reread
from composer.data.fields.field_type import Cells, FieldKeys, FieldType
from composer.data.files.bad_rows import BadRow
from composer.data.layout import Numerals
from composer.data.tables.table import Column, Columns

SLOT = re.compile(r"\s*([^\[\],]+)\[([^\]]*)\]\s*(?:,|$)")


@register("field", "attributes")
class Attributes(FieldType):
    """Named attributes as one vector: those of the ``columns``, or the slots that one ``column`` holds.

    An empty cell is an attribute that is not given: its entries of the vector are 0.
    """

    def __init__(self, key: FieldKeys, *, columns: Columns | None = None, column: Column | None = None) -> None:
        if (columns is None) == (column is None):
            message = f"name the columns of the attributes, e.g. data.{key('columns')}=[height,colour], or else"
            raise Invalid(key("columns"), f"{message} data.{key('column')}.")
        if columns == []:
            raise Invalid(key("columns"), "is empty. Name at least one column.")
        self.names = [str(name) for name in columns or ()]
        super().__init__(key, {"columns": columns, "column": column}, AttributesCodec())

    def value(self, cells: Cells) -> dict[str, Any]:
        if "columns" in cells.cells:
            numerals = cells.record.numerals
            named = zip(self.names, cells.values(), strict=True)
            return {name: _plain(cell, numerals) for name, cell in named if not numerals.missing_label(cell)}
        written = cells.text()
        if SLOT.sub("", written).strip():
            raise cells.problem("which is no list of slots. Write name[value], name[value].")
        return dict(SLOT.findall(written))


class AttributesCodec(Codec):
    """Named attributes as one vector."""

    def __init__(self) -> None:
        self.scales: dict[str, list[float]]  # numeric attribute -> mean, standard deviation
        self.values: dict[str, list[str]]  # any other attribute -> its values in the training split

    @property
    def field(self) -> Field:
        return Field("vec", dim=self.dim)

    @property
    def dim(self) -> int:
        return len(self.numbers) + sum(map(len, self.places.values()))

    def learn(self, values: Reread) -> None:
        seen: dict[str, dict[str, None]] = {}
        sums: dict[str, list[float]] = {}  # running moments of the attributes that were always numbers so far
        for attributes in values(None):
            for name, value in attributes.items():
                seen.setdefault(name, {})
                number = _number(value)
                if number is not None and (name in sums or not seen[name]):
                    moments = sums.setdefault(name, [0.0, 0.0, 0.0])
                    delta = number - moments[1]  # Welford, 1962: count, mean, sum of squared deviations
                    moments[0] += 1
                    moments[1] += delta / moments[0]
                    moments[2] += delta * (number - moments[1])
                elif number is None:
                    sums.pop(name, None)
                seen[name][str(value)] = None
        self.scales = {name: [mean, math.sqrt(total / count) or 1.0] for name, (count, mean, total) in sums.items()}
        self.values = {name: sorted(found) for name, found in seen.items() if name not in sums}
        self._index()

    def _index(self) -> None:
        """Number the entries of the vector. That of all other values of an attribute has the name None."""
        self.numbers = {name: i for i, name in enumerate(self.scales)}
        self.places: dict[str, dict[str | None, int]] = {}
        for name, values in self.values.items():
            self.places[name] = {value: i for i, value in enumerate([None, *values], self.dim)}

    def encode(self, values: list[Any], place: Place) -> list[Tensor]:
        rows = torch.zeros(len(values), 1, self.dim)
        for row, attributes in enumerate(values):
            for name, value in attributes.items():
                if name in self.numbers:
                    number = _number(value)
                    if number is None:
                        found = f"the attribute '{name}' is {value!r}, but a number wherever training has it"
                        raise BadRow(f"{place(row)}: {found}. Mend it.")
                    mean, deviation = self.scales[name]
                    rows[row, 0, self.numbers[name]] = (number - mean) / deviation
                elif name in self.places:
                    rows[row, 0, self.places[name].get(str(value), self.places[name][None])] = 1.0
        return list(rows)

    def parse(self, text: str) -> dict[str, str]:
        """'name=The Mill, food=English' or 'name[The Mill], food[English]'."""
        known = [*self.numbers, *self.places]
        found = dict(SLOT.findall(text))
        if not found or SLOT.sub("", text).strip():
            pieces = [piece.partition("=") for piece in text.split(",") if piece.strip()]
            if not pieces or not all(equals for _, equals, _ in pieces):
                raise UserError(f"'{text}' gives no attributes. Write name=value, name=value.  (has: {listed(known)})")
            found = {name.strip(): value.strip() for name, _, value in pieces}
        for name in found:
            if name not in known:
                raise UserError(f"there is no attribute '{name}'.{did_you_mean(name, known)}  (has: {listed(known)})")
        return found

    def unknown(self, value: Any) -> list[str]:
        """The values that do not occur in the training split; they are encoded as 'other'."""
        return [str(v) for name, v in value.items() if name in self.places and str(v) not in self.places[name]]

    def show(self, signal: Signal) -> list[str]:
        return [self._text(row) for row in signal.values.tolist()]

    def _text(self, row: list[float]) -> str:
        parts = [f"{n}[{row[i] * self.scales[n][1] + self.scales[n][0]:.4g}]" for n, i in self.numbers.items()]
        for name, places in self.places.items():
            parts += [f"{name}[{'other' if value is None else value}]" for value, i in places.items() if row[i] > 0.5]
        return ", ".join(parts)

    def state(self) -> dict[str, Any]:
        return {"scales": self.scales, "values": self.values}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.scales, self.values = state["scales"], state["values"]
        self._index()


def _plain(cell: Any, numerals: Numerals) -> Any:
    """A number that is written with a decimal comma as a number; any other cell as it is."""
    return numerals.number(cell) if numerals.decimal == "," and numerals.is_number(cell) else cell


def _number(value: Any) -> float | None:
    """A finite number, or None for anything else."""
    if isinstance(value, bool):
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None
