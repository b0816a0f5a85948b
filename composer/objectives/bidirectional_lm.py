"""A forward and a backward language model: every step is predicted from all earlier and from all later steps.

    ELMo (Peters et al., 2018): log p(x_t | x_1 ... x_{t-1}) + log p(x_t | x_{t+1} ... x_T), one model for each term.

Fields: ``target``, the sequence, and ``backward``, the reversed sequence. The start token of one direction is the stop
token of the other: the backward model starts with <eos> and predicts <sos> at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from composer.core.registry import register
from composer.core.signals import Field, Ids, Signal, Timed
from composer.data.source import RowNumbers, Source, Split
from composer.objectives.next_token import NextToken
from composer.objectives.objective import Batch, blank_weights


@register("objective", "bidirectional_lm")
class BidirectionalLM(NextToken):
    reversed_fields = frozenset({"backward"})
    running = False  # the next window continues this one forwards, but not backwards, so no state can be carried over

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        contents = replace(self.target.contents, grows=False)
        self.backward = replace(self.target, start=self.target.stop, stop=self.target.start, contents=contents)

    @property
    def fields(self) -> dict[str, Field]:
        return {"target": self.target, "backward": self.backward}

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        found = self.source.encode("target", values)
        assert isinstance(found, Timed)
        return self._turned(found, self.target) if field == "backward" else found

    def unknown(self, field: str, value: Any) -> list[str]:
        return self.source.unknown("target", value)

    def batch(self, split: Split, rows: RowNumbers, epoch: int = 0) -> Batch:
        batch = super().batch(split, rows, epoch)
        target = batch.signals["target"]
        assert isinstance(target, Timed)
        signals: dict[str, Signal] = {"target": target, "backward": self._turned(target, self.target)}
        return replace(batch, signals=signals, weights=blank_weights(signals, self.fields))

    def show(self, field: str, signal: Signal) -> list[str]:
        """The texts in their original direction."""
        if field == "backward":
            assert isinstance(signal, Timed)
            signal = self._turned(signal, self.backward)
        return self.source.show("target", signal)

    def _turned(self, signal: Timed, field: Field) -> Timed:
        """The reversed sequence up to the first ``field.stop``, ended by the stop token of the other direction."""
        if not isinstance(signal, Ids) or field.stop is None:
            return signal.reversed()
        ends = (signal.filled(-1) == field.stop).long()  # (B, T)
        ended = ends.any(1)
        counts = torch.where(ended, ends.argmax(1), signal.counts)
        turned = Ids(signal.values, counts).reversed().values
        if field.start is not None:
            turned[ended, counts[ended]] = field.start
        return Ids(turned, counts + ended.long())
