"""The common parts of objectives that pair words with the words around them: positions, subsampling, windows.

    word2vec (Mikolov et al., 2013): a window of 1 to ``window`` words on either side of a centre word, drawn for every
    centre. Before, frequent words are left out: a word of frequency f stays with probability sqrt(t/f) + t/f (the
    formula of the authors' program; at most 1), so windows reach further, across the words that were left out. Special
    tokens, such as <unk> and <eos>, are left out, too. A window does not cross the ends of a row of the source.

A row is one position of the text, the centre. It is empty where the word at this position was left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor

from composer.core.block import Positive, Scale
from composer.core.problems import Invalid
from composer.core.signals import Ids, Signal
from composer.data.codecs.codec import id_rows
from composer.data.counter_random import below
from composer.data.packed.packed_rows import padded
from composer.data.source import RowNumbers, Source, Split, WrittenRow
from composer.objectives.text_objective import TextObjective, compacted, specials


class Context(TextObjective):
    """An objective whose rows are the positions of a text. No position is both in the source and in the target."""

    rows_by_epoch = False  # a source with other rows in every epoch gives those of its first epoch

    def __init__(
        self,
        source: Source,
        *,
        field: str | None = None,
        window: Positive = 5,
        subsample: Scale | None = 1e-3,
        seed: int = 0,
    ) -> None:
        super().__init__(source, field, seed)
        self.window = window
        self.kept = kept_shares(self.original.vocabulary or 0, self.original.contents.frequency, subsample)  # (V,)
        self.kept[list(specials(self.original))] = 0.0
        self._starts = cache(self._find_starts)

    def _find_starts(self, split: Split) -> Tensor:
        """(rows of the source + 1,): the number of positions before each row of the source, and in all."""
        rows = self.source.size(split)
        lengths = self.source.lengths(split, torch.arange(rows))[self.field] if rows else torch.zeros(0)
        return torch.cat([torch.zeros(1, dtype=torch.long), lengths.long().cumsum(0)])

    def size(self, split: Split) -> int:
        return int(self._starts(split)[-1])

    def source_rows(self, split: Split, rows: RowNumbers) -> Tensor:
        index = torch.as_tensor(rows, dtype=torch.long)
        return torch.searchsorted(self._starts(split), index, right=True) - 1  # (B,)

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        """The mean length of a window, at most the words around a centre."""
        owners, starts = self.source_rows(split, rows), self._starts(split)
        return {"source": (starts[owners + 1] - starts[owners] - 1).clamp(1, self.window + 1)}

    def windows(self, split: Split, rows: RowNumbers, epoch: int) -> tuple[Tensor, Ids]:
        """The centres (B,), and the words around each, from left to right; none for a centre that was left out."""
        index = torch.as_tensor(rows, dtype=torch.long)
        owners, owned = self.source_rows(split, index).unique(return_inverse=True)
        text = self.read(split, owners)
        values = text.filled(0)
        stays = self.draws(split, owners, epoch)("kept", text.time) < self.kept[values]  # (U, T)
        if text.mask is not None:
            stays &= text.mask
        words, counts = compacted(values, stays)
        place = index - self._starts(split)[owners][owned]  # (B,), of the centre in its row of the source
        at = stays.cumsum(1)[owned, place] - 1  # (B,), of the centre among the words that stay
        reach = 1 + below(self.draws(split, index, epoch)("window", 1), self.window)  # (B, 1)
        steps = torch.cat([torch.arange(-self.window, 0), torch.arange(1, self.window + 1)])  # (2 W,)
        around = at[:, None] + steps  # (B, 2 W)
        inside = (around >= 0) & (around < counts[owned][:, None]) & (steps.abs() <= reach)
        inside &= stays[owned, place][:, None]
        found, counts = compacted(words[owned[:, None], around.clamp(0, text.time - 1)], inside)
        longest = max(1, int(counts.max())) if len(counts) else 1
        return values[owned, place], Ids(found[:, :longest].contiguous(), counts)

    def written(self, split: Split) -> Iterator[WrittenRow] | None:
        return None  # a row of the files has many positions

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        """The ordinary tokens of texts."""
        every = id_rows(self.source.encode(self.field, values))
        special = specials(self.original)
        return Ids(*padded([[token for token in row if token not in special] for row in every]))

    def unknown(self, field: str, value: Any) -> list[str]:
        return self.source.unknown(self.field, value)


def kept_shares(vocabulary: int, frequency: tuple[float, ...] | None, threshold: float | None) -> Tensor:
    """(V,), the probability that each word stays: sqrt(t/f) + t/f, at most 1; without a threshold t, always 1."""
    if threshold is None:
        return torch.ones(vocabulary, dtype=torch.float64)
    if frequency is None:
        raise Invalid(
            "subsample", "the data does not count its tokens, so frequent tokens are not known. Set subsample to null."
        )
    ratio = threshold / torch.tensor(frequency, dtype=torch.float64)  # infinite for a word that was not counted
    return (ratio.sqrt() + ratio).clamp(max=1.0)
