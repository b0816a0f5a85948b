"""Parity: whether the number of ones in a sequence of bits is odd. One bit of hidden state solves the task."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.registry import register
from composer.core.signals import Field, Ids, Label, Signal
from composer.data.counter_random import below
from composer.data.generated_source import GeneratedSource, check_lengths, cut, drawn_lengths
from composer.data.source import RowNumbers, Split

TOKENS = ("0", "1")
ANSWERS = ("even", "odd")


@register("data", "parity")
class Parity(GeneratedSource):
    """source: bits; target: even or odd. With ``aligned``, the target has a parity after every bit."""

    def __init__(
        self, *, length: Positive = 40, min_length: Positive = 1, aligned: bool = False, train_size: Positive = 100000,
        valid_size: Positive = 1000, seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(train_size, valid_size, seed)
        check_lengths(min_length, length)
        self.length, self.min_length, self.aligned = length, min_length, aligned

    def bare_fields(self) -> dict[str, Field]:
        axis = "source" if self.aligned else None
        return {
            "source": Field("ids", vocabulary=2, tokens=TOKENS),
            "target": Field("ids" if self.aligned else "label", vocabulary=2, tokens=ANSWERS, axis=axis),
        }

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return {"source": self._lengths(split, torch.as_tensor(rows, dtype=torch.long))}

    def _lengths(self, split: Split, rows: Tensor) -> Tensor:
        return drawn_lengths(self.draw("length", split, rows, 1), self.min_length, self.length)

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        lengths = self._lengths(split, rows)
        source = cut(below(self.draw("bits", split, rows, self.length), 2), lengths)
        if self.aligned:
            return {"source": source, "target": Ids(source.filled(0).cumsum(1) % 2, source.lengths)}
        return {"source": source, "target": Label(source.filled(0).sum(1) % 2)}
