"""Continuous bag of words: the words around a word predict it (Mikolov et al., 2013; composer/objectives/context.py).

Fields: ``source``, the words around a centre, and ``target``, the centre, a label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from composer.core.problems import UserError
from composer.core.registry import register
from composer.core.signals import Field, Ids, Label, Signal
from composer.data.source import RowNumbers, Split
from composer.objectives.context import Context
from composer.objectives.objective import Batch


@register("objective", "cbow")
class CBOW(Context):
    @property
    def fields(self) -> dict[str, Field]:
        plain = replace(self.original, start=None, stop=None)
        return {"source": plain, "target": replace(plain, kind="label", contents=replace(plain.contents, text=False))}

    def batch(self, split: Split, rows: RowNumbers, epoch: int = 0) -> Batch:
        centres, words = self.windows(split, rows, epoch)
        weight = (words.counts > 0).float()  # a word without words around it cannot be predicted
        return Batch({"source": words, "target": Label(centres)}, {"target": weight})

    def show(self, field: str, signal: Signal) -> list[str]:
        if isinstance(signal, Label):
            signal = Ids(signal.values[:, None])
        return self.source.show(self.field, signal)

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        found = super().encode(field, values)
        if field == "source":
            return found
        assert isinstance(found, Ids)
        for value, count in zip(values, found.counts.tolist(), strict=True):
            if count != 1:
                raise UserError(f"target: '{value}' has {count} words of the vocabulary. Give one.")
        return Label(found.values[:, 0])
