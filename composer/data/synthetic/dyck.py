"""Dyck languages: nested brackets of several kinds, whose closing brackets are predicted."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.problems import Invalid
from composer.core.registry import register
from composer.core.signals import Field, Signal
from composer.data.counter_random import below
from composer.data.generated_source import GeneratedSource, Span, Spans, cut, ended, vocabulary_field
from composer.data.source import Split

BRACKETS = ("()", "[]", "{}", "<>")
FIRST = 2


@register("data", "dyck")
class Dyck(GeneratedSource):
    """source: a prefix of a word of the Dyck language; target: the brackets that complete the word, ended by <eos>.

    The nesting is at most ``depth``. Where the source is a complete word, the target is <eos> alone.
    """

    def __init__(
        self, *, kinds: Positive = 2, depth: Positive = 8, length: Positive = 40, min_length: Positive = 1,
        valid_length: Span | None = None, test_length: Span | None = None, train_size: Positive = 100000,
        valid_size: Positive = 1000, seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(train_size, valid_size, seed)
        if kinds > len(BRACKETS):
            raise Invalid("kinds", f"{kinds} kinds of brackets, but there are {len(BRACKETS)}: {' '.join(BRACKETS)}.")
        self.kinds, self.depth = kinds, depth
        self.spans = Spans.of("length", length, valid_length, test_length, least=min_length)

    def bare_fields(self) -> dict[str, Field]:
        brackets = BRACKETS[: self.kinds]
        tokens = ("<sos>", "<eos>", *(pair[0] for pair in brackets), *(pair[1] for pair in brackets))
        field = vocabulary_field("ids", tokens, start=0, stop=1)
        return {"source": field, "target": field}

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        """A random walk: at every step a bracket opens, or the last open one closes. All rows are simulated at once."""
        B, time = len(rows), self.spans.most(split)
        opens = self.draw("opens", split, rows, time) < 0.5
        kinds = below(self.draw("kinds", split, rows, time), self.kinds)
        lengths = self.spans.drawn(self.draw("length", split, rows, 1), split)
        stack = torch.zeros(B, self.depth + 1, dtype=torch.long)
        height = torch.zeros(B, dtype=torch.long)
        source = torch.zeros(B, time, dtype=torch.long)
        for t in range(time):
            real = t < lengths
            opening = (opens[:, t] & (height < self.depth)) | (height == 0)
            top = stack.gather(1, (height - 1).clamp(min=0)[:, None])[:, 0]
            source[:, t] = FIRST + torch.where(opening, kinds[:, t], self.kinds + top)
            pushed = stack.scatter(1, height[:, None], kinds[:, t : t + 1])
            stack = torch.where((opening & real)[:, None], pushed, stack)
            height = height + real * torch.where(opening, 1, -1)
        steps = torch.arange(self.depth)
        closing = stack.gather(1, (height[:, None] - 1 - steps).clamp(min=0)) + FIRST + self.kinds  # last opened first
        return {"source": cut(source, lengths), "target": ended(closing, height, 1)}
