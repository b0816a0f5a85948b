"""Compression: a sequence is read into one vector, out of which its tokens are told by their places.

A task of MAD (Poli et al., 2024) for an autoencoder: model=autoencoder.
"""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.registry import register
from composer.core.signals import Field, Ids, Signal
from composer.data.generated_source import FixedLength, vocabulary_field
from composer.data.source import SPLITS, Split


@register("data", "compression")
class Compression(FixedLength):
    """source: symbols, then <c>; places: the numbers of the steps from 0; target: the source, along ``places``."""

    symbols: Positive = 15
    length: Positive = 32

    def prepare(self) -> None:
        self.spans.require(2, ", too short for a symbol and <c>")

    def bare_fields(self) -> dict[str, Field]:
        tokens = (*(str(i) for i in range(self.symbols)), "<c>")
        places = tuple(str(i) for i in range(max(self.spans.most(split) for split in SPLITS)))
        return {
            "source": vocabulary_field("ids", tokens),
            "places": vocabulary_field("ids", places),
            "target": vocabulary_field("ids", tokens, axis="places"),
        }

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        source = self.integers("symbols", split, rows, self.spans.most(split), self.symbols)
        source[:, -1] = self.symbols
        places = torch.arange(source.shape[1]).repeat(len(rows), 1)
        return {"source": Ids(source), "places": Ids(places), "target": Ids(source.clone())}
