"""Multi-query associative recall: pairs of key and value, then keys whose values are predicted (Arora et al., 2023)."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.problems import Invalid
from composer.core.registry import register
from composer.core.signals import Field, Ids, Signal
from composer.data.counter_random import below
from composer.data.generated_source import GeneratedSource
from composer.data.source import RowNumbers, Split

BLANK = 0


@register("data", "associative_recall")
class AssociativeRecall(GeneratedSource):
    """source: ``pairs`` pairs of key and value, then ``queries`` of these keys; target: along the same time axis, the
    value of the key at every query, and <blank> before."""

    def __init__(
        self, *, keys: Positive = 64, values: Positive = 64, pairs: Positive = 16, queries: Positive = 16,
        train_size: Positive = 100000, valid_size: Positive = 1000, seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(train_size, valid_size, seed)
        if pairs > keys:
            raise Invalid("pairs", f"{pairs} pairs need as many different keys, but there are {keys}.")
        if queries > pairs:
            raise Invalid("queries", f"{queries} queries ask for different keys, but there are {pairs} pairs.")
        self.keys, self.values, self.pairs, self.queries = keys, values, pairs, queries

    def bare_fields(self) -> dict[str, Field]:
        values = tuple(f"v{i}" for i in range(self.values))
        known = (*(f"k{i}" for i in range(self.keys)), *values)
        tokens = ("<blank>", *values)
        return {
            "source": Field("ids", vocabulary=len(known), tokens=known),
            "target": Field("ids", vocabulary=len(tokens), tokens=tokens, blank=BLANK, axis="source"),
        }

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return {"source": torch.full((len(rows),), 2 * self.pairs + self.queries)}

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        B = len(rows)
        keys = self.draw("keys", split, rows, self.keys).argsort(dim=1)[:, : self.pairs]  # (B, pairs), all different
        values = below(self.draw("values", split, rows, self.pairs), self.values)
        asked = self.draw("queries", split, rows, self.pairs).argsort(dim=1)[:, : self.queries]  # which pairs
        context = torch.stack([keys, self.keys + values], dim=2).view(B, 2 * self.pairs)
        source = torch.cat([context, keys.gather(1, asked)], dim=1)
        target = torch.cat([torch.full_like(context, BLANK), 1 + values.gather(1, asked)], dim=1)
        return {"source": Ids(source), "target": Ids(target)}
