"""The common parts of copy, reverse and sort, which map a sequence of symbols to another."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.signals import Field, Signal
from composer.data.counter_random import below
from composer.data.generated_source import GeneratedSource, check_lengths, cut, drawn_lengths, ended
from composer.data.source import RowNumbers, Split

FIRST = 2  # the symbols come after <sos> and <eos>


class Sequences(GeneratedSource):
    """source: symbols from 0 to ``symbols - 1``; target: the ``answer`` to them, ended by <eos>."""

    def __init__(
        self, *, symbols: Positive = 50, length: Positive = 25, min_length: Positive = 1, train_size: Positive = 100000,
        valid_size: Positive = 1000, seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(train_size, valid_size, seed)
        check_lengths(min_length, length)
        self.symbols, self.length, self.min_length = symbols, length, min_length

    @abstractmethod
    def answer(self, values: Tensor, lengths: Tensor) -> Tensor:
        """The symbols of the target, (B, T), for source symbols (B, T), of which ``lengths`` (B,) are real."""

    def bare_fields(self) -> dict[str, Field]:
        tokens = ("<sos>", "<eos>", *(str(i) for i in range(self.symbols)))
        field = Field("ids", vocabulary=len(tokens), start=0, stop=1, tokens=tokens)
        return {"source": field, "target": field}

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        lengths = self._lengths(split, torch.as_tensor(rows, dtype=torch.long))
        return {"source": lengths, "target": lengths + 1}

    def _lengths(self, split: Split, rows: Tensor) -> Tensor:
        return drawn_lengths(self.draw("length", split, rows, 1), self.min_length, self.length)

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        lengths = self._lengths(split, rows)
        values = FIRST + below(self.draw("symbols", split, rows, self.length), self.symbols)  # (B, T)
        return {"source": cut(values, lengths), "target": ended(self.answer(values, lengths), lengths, 1)}


def backwards(values: Tensor, lengths: Tensor) -> Tensor:
    """Every row reversed within its length."""
    steps = torch.arange(values.shape[1])
    return values.gather(1, torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps))


def in_order(values: Tensor, lengths: Tensor) -> Tensor:
    """Every row sorted within its length."""
    real = torch.arange(values.shape[1]) < lengths[:, None]
    return values.masked_fill(~real, torch.iinfo(torch.long).max).sort(dim=1).values.masked_fill(~real, 0)
