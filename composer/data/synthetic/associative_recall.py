"""Multi-query associative recall: pairs of key and value, then keys whose values are predicted (Arora et al., 2023).

With a ``length``, the queries are spread over the steps after the pairs, as in that paper: at every second step, at
distances g with P(g) ~ g^(power - 1). Without it they follow the pairs at once.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from composer.core.block import Positive, Scale
from composer.core.problems import Invalid
from composer.core.registry import register
from composer.core.signals import Field, Signal
from composer.data.generated_source import GeneratedSource, Span, Spans, answer_field, cut, numbered, vocabulary_field
from composer.data.source import SPLITS, RowNumbers, Split

BLANK = 0


@register("data", "associative_recall")
class AssociativeRecall(GeneratedSource):
    """source: ``pairs`` pairs of key and value, then ``queries`` of these keys; target: along the same time axis, the
    value of the key at every query, and <blank> elsewhere."""

    keys: Positive = 64
    values: Positive = 64
    distinct: bool = False
    pairs: Span = 16
    valid_pairs: Span | None = None
    test_pairs: Span | None = None
    queries: Positive | None = 16
    length: Positive | None = None
    valid_length: Positive | None = None
    test_length: Positive | None = None
    power: Scale = 0.01
    filler: Literal["blank", "random"] = "random"

    def prepare(self) -> None:
        self.spans = Spans.of("pairs", self.pairs, self.valid_pairs, self.test_pairs)
        most = max(self.spans.most(split) for split in SPLITS)
        if most > self.keys:
            raise Invalid("pairs", f"{most} pairs need as many different keys, but there are {self.keys}.")
        if self.distinct and most > self.values:
            raise Invalid("distinct", f"{most} pairs need as many different values, but there are {self.values}.")
        least = min(self.spans.least(split) for split in SPLITS)
        if self.queries is not None and self.queries > least:
            asked = f"{self.queries} queries ask for different keys, but there are {least} pairs."
            raise Invalid("queries", f"{asked} null asks for all keys.")
        self.steps: Spans | None = None
        if self.length is None:
            if self.valid_length or self.test_length:
                raise Invalid("valid_length" if self.valid_length else "test_length", "has no effect without a length.")
            return
        self.steps = Spans.of("length", self.length, self.valid_length, self.test_length)
        for split in SPLITS:
            needed = 2 * self.spans.most(split) + 2 * (self.queries or self.spans.most(split))
            if needed > self.steps.most(split):
                found = self.steps.most(split)
                raise self.steps.problem(split, f"is {found}, but the pairs and queries need {needed} steps.")

    def bare_fields(self) -> dict[str, Field]:
        values = numbered(self.values, "v")
        filler = ("<blank>",) if self.steps is not None and self.filler == "blank" else ()
        known = (*numbered(self.keys, "k"), *values, *filler)
        return {"source": vocabulary_field("ids", known), "target": answer_field(values)}

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return {"source": self._sizes(split, torch.as_tensor(rows, dtype=torch.long))[2]}

    def _sizes(self, split: Split, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The numbers of pairs, of queries and of steps, (B,) each."""
        pairs = self.spans.drawn(self.draw("pairs", split, rows, 1), split)
        queries = pairs if self.queries is None else torch.full_like(pairs, self.queries)
        steps = 2 * pairs + queries if self.steps is None else torch.full_like(pairs, self.steps.most(split))
        return pairs, queries, steps

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        most = self.spans.most(split)
        pairs, queries, lengths = self._sizes(split, rows)
        keys = self.draw("keys", split, rows, self.keys).argsort(dim=1)[:, :most]  # (B, pairs), all different
        if self.distinct:
            values = self.draw("values", split, rows, self.values).argsort(dim=1)[:, :most]
        else:
            values = self.integers("values", split, rows, most, self.values)
        absent = torch.arange(most) >= pairs[:, None]
        order = self.draw("queries", split, rows, most).masked_fill(absent, 2.0).argsort(dim=1)
        order = order[:, : self.queries or most]  # (B, queries), which pairs are asked for
        number, time = torch.arange(order.shape[1]), int(lengths.max()) if len(rows) else 0
        steps = 2 * pairs[:, None] + (number if self.steps is None else self._gaps(split, rows, pairs, len(number)))
        steps = steps.masked_fill(number >= queries[:, None], time)  # a last column, which is cut off
        known = self.keys + self.values
        source = torch.full((len(rows), time + 1), known)
        if self.steps is not None and self.filler == "random":
            source = self.integers("filler", split, rows, time + 1, known)
        context = torch.stack([keys, self.keys + values], dim=2).flatten(1)[:, :time]
        inside = torch.arange(context.shape[1]) < 2 * pairs[:, None]
        source[:, : context.shape[1]] = torch.where(inside, context, source[:, : context.shape[1]])
        target = torch.full_like(source, BLANK).scatter(1, steps, 1 + values.gather(1, order))
        source = source.scatter(1, steps, keys.gather(1, order))
        return {"source": cut(source, lengths), "target": cut(target, lengths)}

    def _gaps(self, split: Split, rows: Tensor, pairs: Tensor, count: int) -> Tensor:
        """(B, count) different even numbers: how many steps after the pairs the queries are."""
        assert self.steps is not None
        free = self.steps.most(split) // 2 - pairs
        places = torch.arange(int(free.max()) if len(rows) else 0)
        weights = (places + 1.0).double() ** (self.power - 1)
        # the largest of log(u) / w are a draw without replacement by the weights w (Efraimidis and Spirakis, 2006)
        scores = (1 - self.draw("gaps", split, rows, len(places))).log() / weights
        return 2 * scores.masked_fill(places >= free[:, None], -torch.inf).topk(count, dim=1).indices
