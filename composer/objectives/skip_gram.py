"""Skip-gram: a word predicts each of the words around it (Mikolov et al., 2013; composer/objectives/context.py).

Fields: ``source``, the centre word, once for every word around it, and ``target``, these words along the same steps.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

from composer.core.registry import register
from composer.core.signals import Field, Ids, Signal
from composer.data.codecs.codec import id_rows
from composer.data.packed.packed_rows import padded
from composer.data.source import RowNumbers, Split
from composer.objectives.context import Context
from composer.objectives.objective import Batch


@register("objective", "skip_gram")
class SkipGram(Context):
    @property
    def fields(self) -> dict[str, Field]:
        plain = replace(self.original, start=None, stop=None)
        return {"source": plain, "target": replace(plain, axis="source")}

    def batch(self, split: Split, rows: RowNumbers, epoch: int = 0) -> Batch:
        centres, words = self.windows(split, rows, epoch)
        source = replace(words, values=centres[:, None].expand_as(words.values))
        return Batch({"source": replace(source, values=source.filled(0)), "target": words})

    def show(self, field: str, signal: Signal) -> list[str]:
        """The words; of the source, each centre once."""
        if field == "source":
            signal = Ids(*padded([[token for token, _ in groupby(row)] for row in id_rows(signal)]))
        return self.source.show(self.field, signal)
