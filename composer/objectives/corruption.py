"""The common parts of objectives that corrupt a text: the token [MASK] and random draws."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

import torch
from torch import Tensor

from composer.core.problems import Invalid
from composer.core.signals import Field, Ids, Signal
from composer.data.codecs.codec import id_rows
from composer.data.packed.packed_rows import padded
from composer.data.source import RowNumbers, Source, Split, WrittenRow
from composer.objectives.objective import Batch, Origin
from composer.objectives.text_objective import Draw, TextObjective, specials

MASK = "[MASK]"

#: The number of tokens that are shown in pairs, to find the text that the source writes between two tokens.
TRIED = 20


class Corruption(TextObjective):
    """An objective whose fields, corrupted and original, share one vocabulary, so that their weights can be tied.

    [MASK] is the last token of the vocabulary, unless the source's vocabulary already has a token of that name. Its
    inverse document frequency is 0, because it occurs in every row. The corrupted text is given by design, so that it
    does not count as revealing the original.
    """

    def __init__(self, source: Source, field: str | None, seed: int) -> None:
        super().__init__(source, field, seed)
        self.masked_field, self.mask = with_mask(self.original)
        plain = torch.ones(self.masked_field.vocabulary or 0, dtype=torch.bool)
        plain[[*specials(self.original), self.mask]] = False
        if not plain.any():
            raise Invalid("type", f"every token of '{self.field}' is special, so there is none to hide.")
        self.plain = plain  # (V,), the ids that a text is made of
        self.plain_ids = plain.nonzero()[:, 0]

    @abstractmethod
    def corrupted(self, original: Ids, draw: Draw) -> tuple[Ids, dict[str, Tensor]]:
        """The source that is made of original texts, and the weights of the steps of the target."""

    def batch(self, split: Split, rows: RowNumbers, epoch: int = 0) -> Batch:
        index = torch.as_tensor(rows, dtype=torch.long)
        original = self.read(split, index)
        source, weights = self.corrupted(original, self.draws(split, index, epoch))
        target = replace(original, values=original.filled(0))
        return Batch({"source": source, "target": target}, weights, Origin(split, index))

    def show(self, field: str, signal: Signal) -> list[str]:
        """A text for each row. Where the source has no token [MASK], it shows the pieces between the [MASK] tokens."""
        if self.mask < (self.original.vocabulary or 0):
            return self.source.show(self.field, signal)
        rows = [self._pieces(row) for row in id_rows(signal)]
        texts = iter(self._shown([piece for row in rows for piece in row if piece]))
        between, backwards = self._spelling
        found = []
        for row in rows:
            words = [next(texts) if piece else MASK for piece in row]
            found.append(between.join(words[::-1] if backwards else words))
        return found

    def references(self, field: str, origin: Origin) -> list[list[str]] | None:
        """The original text is the target; the corrupted text is in no file."""
        return self.source.references(self.field, origin.split, origin.rows) if field == "target" else None

    def written(self, split: Split) -> Iterator[WrittenRow] | None:
        """The places of the rows only: the model reads corrupted values."""
        rows = self.source.written(split)
        return None if rows is None else (row._replace(values={}) for row in rows)

    def encode(self, field: str, values: Sequence[Any]) -> Ids:
        """The tokens of texts, in which "[MASK]" stands for the mask token."""
        if self.mask >= (self.original.vocabulary or 0):
            return Ids(*padded([self._masked(value) for value in values]))
        found = self.source.encode(self.field, values)
        assert isinstance(found, Ids)
        return found

    def _masked(self, text: str) -> list[int]:
        """The tokens of a text with [MASK] between its pieces, inside of what stands before and after every text."""
        ends = self._tokens("")
        first = 0 if self.original.contents.frame is None else 1
        pieces = [self._tokens(piece) if piece else ends for piece in text.split(MASK)]
        row = ends[:first]
        for place, piece in enumerate(pieces):
            row += [self.mask] if place else []
            row += piece[first : len(piece) - len(ends) + first]
        return row + ends[first:]

    def _tokens(self, text: str) -> list[int]:
        return id_rows(self.source.encode(self.field, [text]))[0]

    def unknown(self, field: str, value: Any) -> list[str]:
        return [token for piece in value.split(MASK) for token in self.source.unknown(self.field, piece)]

    def _pieces(self, row: list[int]) -> list[list[int]]:
        """The runs of ordinary tokens of a row before <eos>, with an empty run for every [MASK]."""
        stop, frame = self.original.stop, self.original.contents.frame or ()
        if stop in row:
            row = row[: row.index(stop)]
        row = [token for token in row if token not in frame]
        pieces: list[list[int]] = []
        for masks, group in groupby(row, key=lambda token: token == self.mask):
            piece = list(group)
            pieces += [[] for _ in piece] if masks else [piece]
        return pieces

    def _shown(self, rows: list[list[int]]) -> list[str]:
        return self.source.show(self.field, Ids(*padded(rows))) if rows else []

    @cached_property
    def _spelling(self) -> tuple[str, bool]:
        """The text between two tokens, and whether the source shows its tokens in reverse order."""
        some = self.plain_ids[:: max(1, len(self.plain_ids) // TRIED)].tolist()
        for first, second in pairwise(some):
            one, other, both = self._shown([[first], [second], [first, second]])
            for a, b, backwards in ((one, other, False), (other, one, True)):
                if a != b and len(both) >= len(a) + len(b) and both.startswith(a) and both.endswith(b):
                    return both[len(a) : len(both) - len(b)], backwards
        return " ", False


def with_mask(field: Field) -> tuple[Field, int]:
    """The field with [MASK] in its vocabulary, and the id of [MASK]."""
    assert field.vocabulary is not None
    known = field.contents
    tokens, idf, frequency = known.tokens, known.idf, known.frequency
    if tokens is not None and MASK in tokens:
        mask = tokens.index(MASK)
        idf = idf and (*idf[:mask], 0.0, *idf[mask + 1 :])
        return replace(field, contents=replace(known, idf=idf)), mask
    tokens, idf = tokens and (*tokens, MASK), idf and (*idf, 0.0)
    longer = replace(known, tokens=tokens, idf=idf, frequency=frequency and (*frequency, 0.0))
    return replace(field, vocabulary=field.vocabulary + 1, contents=longer), field.vocabulary


def rounded(expected: Tensor, draws: Tensor) -> Tensor:
    """(B,): expected counts (B,), rounded up or down by ``draws`` (B, 1), so that they are exact on average."""
    return (expected + draws[:, 0]).floor().long()


def ranks(draws: Tensor, able: Tensor, counts: Tensor) -> Tensor:
    """(B, T): the rank of each step among the ``able`` steps of its row, sorted by ``draws``.

    Only ranks below ``counts`` (B,) are exact; all other steps have a rank of at least ``counts``.
    """
    B, T = draws.shape
    most = min(int(counts.max()), T)
    smallest = draws.masked_fill(~able, 2.0).topk(most, dim=1, largest=False).indices  # far cheaper than a sort
    found = torch.full((B, T), T).scatter_(1, smallest, torch.arange(most).expand(B, most))
    return found.masked_fill_(~able, T)


def chosen(draws: Tensor, able: Tensor, counts: Tensor) -> Tensor:
    """(B, T): the ``counts`` (B,) steps of each row with the smallest draws among the ``able`` ones, or all."""
    return ranks(draws, able, counts) < counts.clamp(max=draws.shape[1])[:, None]
