"""The codec of numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from composer.core.problems import UserError
from composer.core.signals import Field, Seq, Signal
from composer.data.codecs.codec import Codec, Place, Reread
from composer.data.files.bad_rows import BadRow
from composer.data.layout.numerals import LARGEST


class NumberCodec(Codec):
    """Vectors, or sequences of vectors, standardised to mean 0 and standard deviation 1 over the training split.

    NaN is a missing number, which is read as the mean.
    """

    def __init__(self, dim: int | None = None, *, sequence: bool = False, normalise: bool = True) -> None:
        self.dim, self.sequence, self.normalise = dim, sequence, normalise
        self.mean: Tensor
        self.deviation: Tensor

    @property
    def field(self) -> Field:
        return Field("seq" if self.sequence else "vec", dim=self.dim)

    def learn(self, values: Reread) -> None:
        moments = Moments()
        for value in values(None) if self.normalise or self.dim is None else islice(values(None), 1):
            rows = torch.as_tensor(value, dtype=torch.float64)
            moments.add(rows if self.sequence else rows[None])
            self.dim = rows.shape[-1]
        assert self.dim is not None
        self.mean, self.deviation = torch.zeros(self.dim), torch.ones(self.dim)
        if self.normalise:
            self.mean, self.deviation = moments.scale()

    def encode(self, values: list[Any], place: Place) -> list[Tensor]:
        rows = [torch.as_tensor(value, dtype=torch.float32) for value in values]
        for i, row in enumerate(rows):
            if row.shape[-1] != self.dim:
                raise BadRow(f"{place(i)}: has {row.shape[-1]} numbers, but the training split has {self.dim}.")
        scaled = [(row if self.sequence else row[None]).sub(self.mean).div(self.deviation) for row in rows]
        return [row.masked_fill(row.isnan(), 0.0) for row in scaled]  # the mean, where a number is missing

    def parse(self, text: str) -> list[Any]:
        assert self.dim is not None
        return typed_numbers(text, self.dim, sequence=self.sequence)

    def unscaled(self, values: Tensor) -> Tensor:
        """Values in the units of the data, without the digits that standardised values of float32 do not hold: what was
        0 is 0, and not 3.7e-09."""
        away = values.detach().cpu().double() * self.deviation
        digits = torch.maximum(away.abs(), self.mean.abs().double()) * 2**-22
        step = 10 ** digits.clamp(min=1e-300).log10().ceil()
        return ((away + self.mean).div(step).round() * step + 0.0).to(values.dtype)  # + 0.0: no -0

    def show(self, signal: Signal) -> list[str]:
        values = self.unscaled(signal.values)
        if not isinstance(signal, Seq):
            return [" ".join(f"{number:.4g}" for number in row) for row in values.tolist()]
        rows = zip(values.tolist(), signal.counts.tolist(), strict=True)
        return ["; ".join(" ".join(f"{number:.4g}" for number in step) for step in row[:n]) for row, n in rows]

    def state(self) -> dict[str, Any]:
        return {"mean": self.mean.tolist(), "deviation": self.deviation.tolist()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.mean, self.deviation = torch.tensor(state["mean"]), torch.tensor(state["deviation"])
        self.dim = len(self.mean)


def typed_numbers(text: str, dim: int, *, sequence: bool) -> list[Any]:
    """'0.1,0.9,0.3' as a vector; '1 2; 3 4' as two steps of a sequence. Steps of one number need no semicolon."""
    steps = re.split(r"[;\n]", text) if sequence and dim > 1 else [re.sub(r"[;\n]", " ", text)]
    found: list[Any] = []
    for step in steps:
        try:
            numbers = [float(word) for word in re.split(r"[\s,]+", step.strip()) if word]
        except ValueError as error:
            raise UserError(f"'{text}' is not made of numbers. Write them with commas between: 0.1,0.9,0.3") from error
        if not all(abs(number) <= LARGEST for number in numbers):
            raise UserError(f"'{text}' holds a number that is not finite, or beyond {LARGEST:g}. Leave it out.")
        if not sequence or dim > 1:
            if len(numbers) != dim:
                raise UserError(f"'{step.strip()}' has {len(numbers)} numbers, but the model reads {dim}.")
            found.append(numbers)
        else:
            found += [[number] for number in numbers]
    return found if sequence else found[0]


class Moments:
    """Mean and variance of chunks of rows (Chan et al., 1983), without the cancellation of a sum of squares.

    NaN is a missing number, which does not count.
    """

    def __init__(self) -> None:
        self.count = torch.zeros((), dtype=torch.long)
        self.mean = torch.zeros((), dtype=torch.float64)
        self.squares = torch.zeros((), dtype=torch.float64)  # the sum of squared deviations from the mean

    def add(self, rows: Tensor) -> None:
        """Add a chunk of rows, (n, D)."""
        if len(rows) == 0:
            return
        rows = rows.double()
        here = (~rows.isnan()).sum(0)  # (D,)
        mean, count = rows.nansum(0) / here.clamp(min=1), self.count + here
        away = torch.where(here > 0, mean - self.mean, 0.0)
        share = here / count.clamp(min=1)
        self.squares = self.squares + (rows - mean).square().nansum(0) + away.square() * self.count * share
        self.mean = self.mean + away * share
        self.count = count

    def scale(self) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation; the deviation of a constant column is 1."""
        deviation = (self.squares / self.count.clamp(min=1)).sqrt()
        constant = deviation <= 1e-9 * (1 + self.mean.abs())
        return self.mean.float(), torch.where(constant, torch.ones_like(deviation), deviation).float()
