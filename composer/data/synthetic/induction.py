"""Induction heads: predict the symbol that followed the first <mark> (Olsson et al., 2022)."""

from __future__ import annotations

from torch import Tensor

from composer.core.block import Positive
from composer.core.registry import register
from composer.core.signals import Field, Ids, Label, Signal
from composer.data.generated_source import FixedLength, numbered, vocabulary_field
from composer.data.source import Split

MARK = 0


@register("data", "induction")
class Induction(FixedLength):
    """source: symbols, with <mark> at a random place and at the end; target: the symbol after the first <mark>."""

    symbols: Positive = 16
    length: Positive = 256

    def prepare(self) -> None:
        self.spans.require(3, ", too short for a mark, a symbol and a mark")

    def bare_fields(self) -> dict[str, Field]:
        names = numbered(self.symbols)
        return {
            "source": vocabulary_field("ids", ("<mark>", *names)),
            "target": vocabulary_field("label", names),
        }

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        length = self.spans.most(split)
        source = 1 + self.integers("symbols", split, rows, length, self.symbols)
        place = self.integers("place", split, rows, 1, length - 2)  # (B, 1)
        source = source.scatter(1, place, MARK)
        source[:, -1] = MARK
        return {"source": Ids(source), "target": Label(source.gather(1, place + 1)[:, 0] - 1)}
