"""Induction heads: predict the symbol that followed the first <mark> (Olsson et al., 2022)."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.registry import register
from composer.core.signals import Field, Ids, Label, Signal
from composer.data.counter_random import below
from composer.data.generated_source import GeneratedSource, Spans, vocabulary_field
from composer.data.source import RowNumbers, Split

MARK = 0


@register("data", "induction")
class Induction(GeneratedSource):
    """source: symbols, with <mark> at a random place and at the end; target: the symbol after the first <mark>."""

    def __init__(
        self, *, symbols: Positive = 16, length: Positive = 256, valid_length: Positive | None = None,
        test_length: Positive | None = None, train_size: Positive = 100000, valid_size: Positive = 1000, seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(train_size, valid_size, seed)
        self.symbols, self.spans = symbols, Spans.of("length", length, valid_length, test_length)
        self.spans.require(3, ", too short for a mark, a symbol and a mark")

    def bare_fields(self) -> dict[str, Field]:
        names = tuple(str(i) for i in range(self.symbols))
        return {
            "source": vocabulary_field("ids", ("<mark>", *names)),
            "target": vocabulary_field("label", names),
        }

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return {"source": torch.full((len(rows),), self.spans.most(split))}

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        length = self.spans.most(split)
        source = 1 + below(self.draw("symbols", split, rows, length), self.symbols)
        place = below(self.draw("place", split, rows, 1), length - 2)  # (B, 1)
        source = source.scatter(1, place, MARK)
        source[:, -1] = MARK
        return {"source": Ids(source), "target": Label(source.gather(1, place + 1)[:, 0] - 1)}
