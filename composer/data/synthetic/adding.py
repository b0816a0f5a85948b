"""The adding problem: predict the sum of the two marked numbers of a sequence (Hochreiter and Schmidhuber, 1997)."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.registry import register
from composer.core.signals import Field, Seq, Signal, Vec
from composer.data.counter_random import below
from composer.data.generated_source import GeneratedSource, Spans
from composer.data.source import RowNumbers, Split


@register("data", "adding")
class Adding(GeneratedSource):
    """source: ``length`` pairs of a number in [0, 1) and a mark, 0 or 1, where each half of the sequence has one 1;
    target: the sum of the two marked numbers."""

    def __init__(
        self, *, length: Positive = 50, valid_length: Positive | None = None, test_length: Positive | None = None,
        train_size: Positive = 100000, valid_size: Positive = 1000, seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(train_size, valid_size, seed)
        self.spans = Spans.of("length", length, valid_length, test_length)
        self.spans.require(2, ", but two numbers are to be added")

    def bare_fields(self) -> dict[str, Field]:
        return {"source": Field("seq", dim=2), "target": Field("vec", dim=1)}

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return {"source": torch.full((len(rows),), self.spans.most(split))}

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        length = self.spans.most(split)
        half = length // 2
        numbers = self.draw("numbers", split, rows, length).float()  # (B, T)
        places = self.draw("marks", split, rows, 2)
        first, second = below(places[:, :1], half), half + below(places[:, 1:], length - half)
        marks = torch.zeros_like(numbers).scatter_(1, torch.cat([first, second], 1), 1.0)
        total = (numbers * marks).sum(1, keepdim=True)  # (B, 1)
        return {"source": Seq(torch.stack([numbers, marks], dim=-1)), "target": Vec(total)}
