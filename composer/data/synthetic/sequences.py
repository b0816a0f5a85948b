"""The common parts of copy, reverse, sort and other tasks that map a sequence of symbols to another."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.signals import Field, Signal
from composer.data.generated_source import DrawnLength, answer_field, asking_field, cut, ended, ended_field, numbered
from composer.data.source import RowNumbers, Split

FIRST = 2  # the symbols come after <sos> and <eos>, or after <blank> and <ask>
BLANK, ASK = 0, 1
NOTHING = -1  # in an answer: nothing is wanted at this step


class Sequences(DrawnLength):
    """source: symbols; target: the ``answer`` to them, ended by <eos>.

    aligned: whether the target runs along the time axis of the source (Deletang et al., 2022). The source then ends
        with one step <ask> for each symbol of the answer, at which the target is the symbol; before these steps the
        target is <blank>
    """

    length: Positive = 25
    aligned: bool = False

    #: The names of the symbols of the source and of the target.
    given: tuple[str, ...] = field(init=False, default=())
    wanted: tuple[str, ...] = field(init=False, default=())

    @abstractmethod
    def answer(self, values: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """The symbols of the target, (B, N), and their number (B,), for (B, T) symbols, ``lengths`` of them real."""

    def counts(self, lengths: Tensor) -> Tensor:
        """The number of symbols of the target, for the number of symbols of the source."""
        return lengths

    def choose(self, split: Split, rows: Tensor, lengths: Tensor, time: int) -> Tensor:
        """``time`` symbols for the source, (B, T), of which ``lengths`` (B,) are real."""
        return self.integers("symbols", split, rows, time, len(self.given))

    def bare_fields(self) -> dict[str, Field]:
        if self.aligned:
            return {"source": asking_field(self.given), "target": answer_field(self.wanted)}
        return {"source": ended_field(self.given), "target": ended_field(self.wanted)}

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        lengths = self.row_lengths(split, rows)
        counts = self.counts(lengths)
        return {"source": lengths + counts} if self.aligned else {"source": lengths, "target": counts + 1}

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        lengths = self.row_lengths(split, rows)
        values = self.choose(split, rows, lengths, int(lengths.max()) if len(rows) else 0)  # (B, T)
        answers, counts = self.answer(values, lengths)
        given, wanted = FIRST + values, FIRST + answers
        if not self.aligned:
            return {"source": cut(given, lengths), "target": ended(wanted, counts)}
        source = followed(given, lengths, torch.full_like(wanted, ASK), counts)
        target = followed(torch.full_like(given, BLANK), lengths, wanted - 1, counts)
        return {"source": cut(source, lengths + counts), "target": cut(target, lengths + counts)}


class SymbolSequences(Sequences):
    """Sequences whose symbols are numbers."""

    symbols: Positive = 50

    def prepare(self) -> None:
        self.given = self.wanted = numbered(self.symbols)


def followed(first: Tensor, lengths: Tensor, second: Tensor, counts: Tensor) -> Tensor:
    """(B, T): the first ``lengths`` (B,) ids of every row of one tensor, then the first ``counts`` of the other."""
    steps = torch.arange(int((lengths + counts).max()) if len(first) else 0).expand(len(first), -1)
    begun = first.gather(1, steps.clamp(max=first.shape[1] - 1))
    ended = second.gather(1, (steps - lengths[:, None]).clamp(min=0, max=second.shape[1] - 1))
    return torch.where(steps < lengths[:, None], begun, ended)
