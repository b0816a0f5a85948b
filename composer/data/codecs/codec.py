"""Codecs: the values of a field, as they stand in a file, to tensors and back.

A codec learns its vocabulary or its scale from the training split only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from composer.core.problems import did_you_mean, listed
from composer.core.signals import KINDS, Field, Ids, Signal
from composer.data.codecs.token_statistics import TokenStatistics
from composer.data.codecs.word_dropout import WordDropout
from composer.data.files.bad_rows import BadRow
from composer.data.packed.packed_rows import PackedRows, Packer, ids_dtype

#: The number of rows, evenly spread over the training split, from which the statistics of tokens are computed.
COUNTED = 20000

#: The file and line of the i-th value, for messages: "pairs.tsv:17".
Place = Callable[[int], str]

#: Reads the values of the training split: all of them, or at most the given number, evenly spread.
Reread = Callable[[int | None], Iterable[Any]]


class Codec(ABC):
    """Converts the values of one field."""

    @property
    @abstractmethod
    def field(self) -> Field:
        """The kind and the sizes of the values, and what is known of them."""

    @abstractmethod
    def learn(self, values: Reread) -> None:
        """Learn from the training split."""

    def packer(self) -> Packer:
        """An empty packer for encoded values: ids as integers, all else as numbers of the sizes of the field."""
        field = self.field
        dtype = torch.float32 if field.vocabulary is None else ids_dtype(field.vocabulary)
        return Packer(dtype, tuple(size for size in field.shape if isinstance(size, int)))

    @abstractmethod
    def encode(self, values: list[Any], place: Place) -> list[Any]:
        """Values as rows for the packer."""

    def parse(self, text: str) -> Any:
        """The value that a person typed."""
        return text

    def signal(self, packed: PackedRows, rows: Tensor) -> Signal:
        """Some packed rows as a padded signal."""
        kind = KINDS[self.field.kind]
        if kind.timed:
            return kind(*packed.pad(rows))  # type: ignore[call-arg]
        values = packed.values[rows]
        return kind(values if values.is_floating_point() else values.long())

    @abstractmethod
    def show(self, signal: Signal) -> list[str]:
        """The rows of a signal as texts."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """What was learned, as plain data for a checkpoint."""

    @abstractmethod
    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over what was learned."""

    def unknown(self, value: Any) -> list[str]:
        """The words or characters of a value that are not in the vocabulary."""
        return []

    @property
    def measured(self) -> bool:
        """Whether ``measure`` has nothing left to do."""
        return True

    def measure(self, packed: PackedRows) -> None:
        """Compute scales of packed training rows, where reading the values twice would take too long."""
        raise AssertionError("this codec learns from values, not from packed rows")

    @property
    def note(self) -> str | None:
        """A message about a setting that was chosen automatically for the data; None where there was none."""
        return None

    @property
    def word_dropout(self) -> WordDropout | None:
        """The word dropout of the field in training; None where there is none."""
        return None


class TokenCodec(Codec):
    """Converts sequences of tokens: the ids of a vocabulary, with statistics of its tokens in the training split."""

    statistics: TokenStatistics
    tokens: tuple[str, ...]
    counts: tuple[int, ...] = ()  # of every token in the training split; empty without word dropout

    @abstractmethod
    def spelled(self, value: Any) -> str:
        """The text that ``show`` gives for the tokens of a value, if every word is in the vocabulary."""

    def count(self, values: Reread) -> None:
        """Compute the statistics of the tokens in these values."""
        self.statistics = TokenStatistics.of(len(self.tokens), self.encoded(values(COUNTED)))

    def encoded(self, values: Iterable[Any]) -> Iterator[list[int]]:
        """The ids of values, which are read in chunks."""
        unread = iter(values)
        while some := list(islice(unread, 1000)):
            yield from self.encode(some, lambda row: "")

    def signal(self, packed: PackedRows, rows: Tensor) -> Signal:
        return Ids(*packed.pad(rows))

    def state(self) -> dict[str, Any]:
        return {**self.statistics.state(), "counts": list(self.counts)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.statistics = TokenStatistics.restored(state)
        self.counts = tuple(state.get("counts", ()))  # older checkpoints have no counts


def encoded(codec: Codec, values: Sequence[Any]) -> Signal:
    """A signal of a few values. Strings are parsed as text that a person typed."""
    parsed = [codec.parse(value) if isinstance(value, str) else value for value in values]
    packer = codec.packer()
    packer.add(codec.encode(parsed, lambda row: repr(values[row])))
    return codec.signal(packer.finish(), torch.arange(len(values)))


def id_rows(signal: Signal) -> list[list[int]]:
    """The ids of every row, without padding."""
    assert isinstance(signal, Ids)
    rows = zip(signal.values.tolist(), signal.counts.tolist(), strict=True)
    return [row[:count] for row, count in rows]


def unseen(what: str, name: str, known: Iterable[str], place: str, column: object = None) -> BadRow:
    """The error for a name, such as a class, that does not occur in the training split.

    column: the column that holds the name; None where the place tells it
    """
    names = list(known)
    inside = "" if column is None else f" in column '{column}'"
    return BadRow(
        f"{place}: the {what} '{name}' never occurs in the training split.{did_you_mean(name, names)}  "
        f"({what}s: {listed(names)})  Correct it{inside}, or let the training split hold an example of it."
    )
