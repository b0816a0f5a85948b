"""The common parts of tasks that track a state: every symbol of the source changes the state, which is asked for.

Regular languages and groups belong here. A recurrence with as many states solves them for sequences of any length.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import field
from typing import Literal

import torch
from torch import Tensor

from composer.core.signals import Field, Label, Signal
from composer.data.generated_source import DrawnLength, answer_field, cut, vocabulary_field
from composer.data.source import RowNumbers, Split

BLANK = -1  # the state after a symbol that leaves it open, or where it is not asked for

#: Whether the state after every symbol is asked for; "training": in the training split alone.
Aligned = bool | Literal["training"]


class Tracking(DrawnLength):
    """source: symbols; target: the state after the last symbol. With ``aligned``, the target has the state after every
    symbol, and <blank> where a symbol leaves the state open. With ``aligned: training``, it is <blank> in the other
    splits until the last symbol: training on all states learns sooner, and papers measure the last state alone.

    A subclass defines the names of ``symbols`` and ``states``, and ``track``.
    """

    symbols: tuple[str, ...] = field(init=False, default=())
    states: tuple[str, ...] = field(init=False, default=())

    #: Whether some symbols leave the state open.
    open_ended = False

    #: The name of the random numbers that choose the symbols.
    drawn = "symbols"

    aligned: Aligned = False

    @property
    def blanks(self) -> bool:
        """Whether an aligned target has steps that do not count."""
        return self.open_ended or self.aligned == "training"

    @abstractmethod
    def track(self, values: Tensor) -> Tensor:
        """The states after every symbol, (B, T), for symbols (B, T); BLANK where the state is open."""

    def choose(self, split: Split, rows: Tensor, time: int) -> Tensor:
        """``time`` symbols, (B, T)."""
        return self.integers(self.drawn, split, rows, time, len(self.symbols))

    def bare_fields(self) -> dict[str, Field]:
        source = vocabulary_field("ids", self.symbols)
        if not self.aligned:
            return {"source": source, "target": vocabulary_field("label", self.states)}
        states = vocabulary_field("ids", self.states, axis="source")
        return {"source": source, "target": answer_field(self.states) if self.blanks else states}

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return {"source": self.row_lengths(split, rows)}

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        lengths = self.row_lengths(split, rows)
        values = self.choose(split, rows, int(lengths.max()) if len(rows) else 0)
        states = self.track(values)  # (B, T)
        source, last = cut(values, lengths), lengths[:, None] - 1  # (B, 1)
        if not self.aligned:
            return {"source": source, "target": Label(states.gather(1, last)[:, 0])}
        if self.aligned == "training" and split != "train":
            states = states.masked_fill(torch.arange(states.shape[1]) != last, BLANK)
        return {"source": source, "target": cut(states + self.blanks, lengths)}
