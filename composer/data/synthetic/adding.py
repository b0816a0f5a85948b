"""The adding problem: predict the sum of the two marked numbers of a sequence (Hochreiter and Schmidhuber, 1997)."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.registry import register
from composer.core.signals import Field, Seq, Signal, Vec
from composer.data.counter_random import below
from composer.data.generated_source import FixedLength
from composer.data.source import Split


@register("data", "adding")
class Adding(FixedLength):
    """source: ``length`` pairs of a number in [0, 1) and a mark, 0 or 1, where each half of the sequence has one 1;
    target: the sum of the two marked numbers."""

    length: Positive = 50

    def prepare(self) -> None:
        self.spans.require(2, ", but two numbers are to be added")

    def bare_fields(self) -> dict[str, Field]:
        return {"source": Field("seq", dim=2), "target": Field("vec", dim=1)}

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        length = self.spans.most(split)
        half = length // 2
        numbers = self.draw("numbers", split, rows, length).float()  # (B, T)
        places = self.draw("marks", split, rows, 2)
        first, second = below(places[:, :1], half), half + below(places[:, 1:], length - half)
        marks = torch.zeros_like(numbers).scatter_(1, torch.cat([first, second], 1), 1.0)
        total = (numbers * marks).sum(1, keepdim=True)  # (B, 1)
        return {"source": Seq(torch.stack([numbers, marks], dim=-1)), "target": Vec(total)}
