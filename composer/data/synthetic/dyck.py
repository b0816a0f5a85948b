"""Dyck languages: nested brackets of several kinds, whose closing brackets are predicted."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.problems import Invalid
from composer.core.registry import register
from composer.core.signals import Field, Ids, Signal
from composer.data.generated_source import DrawnLength, cut, ended, ended_field
from composer.data.source import Split

BRACKETS = ("()", "[]", "{}", "<>")
FIRST = 2


@register("data", "dyck")
class Dyck(DrawnLength):
    """source: a prefix of a word of the Dyck language; target: the brackets that complete the word, ended by <eos>.

    The nesting is at most ``depth``. Where the source is a complete word, the target is <eos> alone.
    """

    kinds: Positive = 2
    depth: Positive = 8

    def prepare(self) -> None:
        if self.kinds > len(BRACKETS):
            message = f"{self.kinds} kinds of brackets, but there are {len(BRACKETS)}: {' '.join(BRACKETS)}."
            raise Invalid("kinds", message)

    def bare_fields(self) -> dict[str, Field]:
        brackets = BRACKETS[: self.kinds]
        field = ended_field((*(pair[0] for pair in brackets), *(pair[1] for pair in brackets)))
        return {"source": field, "target": field}

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        """A random walk: at every step a bracket opens, or the last open one closes. All rows are simulated at once."""
        B, time = len(rows), self.spans.most(split)
        opens = self.draw("opens", split, rows, time) < 0.5
        kinds = self.integers("kinds", split, rows, time, self.kinds)
        lengths = self.row_lengths(split, rows)
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
        closing = Ids(stack, height).reversed().values + FIRST + self.kinds  # last opened first
        return {"source": cut(source, lengths), "target": ended(closing, height)}
