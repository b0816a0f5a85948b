"""Codecs: the values of a field, as they stand in a file, to tensors and back.

A codec learns its vocabulary or its scale from the training split only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from composer.core.problems import UserError, did_you_mean, listed
from composer.core.signals import Contents, Field, Ids, Seq, Signal, Vec
from composer.data.codecs.token_statistics import TokenStatistics, occurrences
from composer.data.codecs.word_dropout import WordDropout
from composer.data.files.bad_rows import BadRow
from composer.data.layout.numerals import LARGEST
from composer.data.packed.packed_rows import PackedRows, Packer, ids_dtype
from composer.data.tokenisers.auto import choose
from composer.data.tokenisers.tokeniser import Tokeniser, Tokenising

#: The number of rows, evenly spread over the training split, from which the statistics of tokens are computed.
COUNTED = 20000

#: The file and line of the i-th value, for messages: "pairs.tsv:17".
Place = Callable[[int], str]

#: Reads the values of the training split: all of them, or at most the given number, evenly spread.
Reread = Callable[[int | None], Iterable[Any]]


class Codec(Protocol):
    """Converts the values of one field.

    learn: learn from the training split
    packer: an empty packer for encoded values
    encode: values as rows for the packer
    parse: the value that a person typed
    unknown: the words or characters of a value that are not in the vocabulary
    measure: compute scales of packed training rows, where reading the values twice would take too long
    measured: whether ``measure`` has nothing left to do
    signal: some packed rows as a padded signal
    show: the rows of a signal as texts
    state, restore: what was learned, as plain data for a checkpoint
    """

    @property
    def field(self) -> Field: ...
    def learn(self, values: Reread) -> None: ...
    def packer(self) -> Packer: ...
    def encode(self, values: list[Any], place: Place) -> list[Any]: ...
    def parse(self, text: str) -> Any: ...
    def unknown(self, value: Any) -> list[str]: ...
    def measure(self, packed: PackedRows) -> None: ...
    def signal(self, packed: PackedRows, rows: Tensor) -> Signal: ...
    def show(self, signal: Signal) -> list[str]: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: Mapping[str, Any]) -> None: ...

    @property
    def measured(self) -> bool: ...

    @property
    def note(self) -> str | None:
        """A message about a setting that was chosen automatically for the data; None where there was none."""

    @property
    def word_dropout(self) -> WordDropout | None:
        """The word dropout of the field in training; None where there is none."""


class Packs(Protocol):
    """What packing needs of a codec."""

    def packer(self) -> Packer: ...
    def encode(self, values: list[Any], place: Place) -> list[Any]: ...

    @property
    def measured(self) -> bool: ...


class LearningCodec:
    """A codec that has learned everything before its values are packed."""

    @property
    def measured(self) -> bool:
        return True

    def measure(self, packed: PackedRows) -> None:
        raise AssertionError("this codec learns from values, not from packed rows")


class PlainCodec(LearningCodec):
    """A codec without automatic choices and without word dropout."""

    @property
    def note(self) -> str | None:
        return None

    @property
    def word_dropout(self) -> WordDropout | None:
        return None


class FittedCodec(PlainCodec):
    """A codec for which no value is unknown."""

    def unknown(self, value: Any) -> list[str]:
        return []


def encoded(codec: Codec, values: Sequence[Any]) -> Signal:
    """A signal of a few values. Strings are parsed as text that a person typed."""
    parsed = [codec.parse(value) if isinstance(value, str) else value for value in values]
    packer = codec.packer()
    packer.add(codec.encode(parsed, lambda row: repr(values[row])))
    return codec.signal(packer.finish(), torch.arange(len(values)))


class TextCodec(LearningCodec):
    """Texts as token ids, ended by <eos>.

    reverse: whether the tokens of a text are reversed (Sutskever et al., 2014)
    given: whether the text is an input and never predicted: word dropout can then replace its rare words by <unk>
    sentences: the tokeniser that the type ``auto`` chooses for sentences
    """

    def __init__(
        self, options: Tokenising, *, key: str = "tokeniser", reverse: bool = False, given: bool = False,
        sentences: Literal["words", "bpe"] = "bpe",
    ) -> None:  # fmt: skip
        options.check(key)
        self.options, self.key, self.reverse, self.given, self.sentences = options, key, reverse, given, sentences
        self.choice: str | None = None  # the reason for the type that ``auto`` chose
        self.tokeniser: Tokeniser
        self.statistics: TokenStatistics
        self.counts: tuple[int, ...] = ()  # of every token in the training split; empty without word dropout

    @property
    def field(self) -> Field:
        known = self.tokeniser
        contents = Contents(
            tokens=known.tokens, special=tuple(sorted({known.unknown, *known.special})), frame=known.frame,
            idf=self.statistics.idf, frequency=self.statistics.frequency, text=True,
            lowercase=known.options.lowercase, bleu=self.options.bleu, grows=not self.reverse,
        )  # fmt: skip
        return Field("ids", vocabulary=len(known.tokens), start=known.start, stop=known.stop, contents=contents)

    def learn(self, values: Reread) -> None:
        self.adopt(self.learn_tokeniser(values), values)

    def learn_tokeniser(self, values: Reread) -> Tokeniser:
        """A tokeniser learned from these values. The type ``auto`` is first replaced by a concrete type."""
        options, rows = self.options, self.options.rows
        if options.type == "auto":
            options, self.choice = choose(options, lambda: values(rows), self.sentences)
            options.check(self.key)
        return Tokeniser.learn(options, lambda: values(rows))

    def adopt(self, tokeniser: Tokeniser, values: Reread) -> None:
        """Use a tokeniser that was learned elsewhere, and count its tokens in these values."""
        self.tokeniser = tokeniser
        size = len(tokeniser.tokens)
        self.statistics = TokenStatistics.of(size, self._encoded(iter(values(COUNTED))))
        if self.given and tokeniser.whole_words and tokeniser.options.unknown:
            self.counts = occurrences(size, self._encoded(iter(values(self.options.rows))))

    @property
    def note(self) -> str | None:
        """The tokeniser that ``auto`` chose, with the reason; None where the config named its type."""
        if self.choice is None:
            return None
        return f"{self.tokeniser.options.type}, {len(self.tokeniser.tokens):,} in the vocabulary ({self.choice})"

    @property
    def word_dropout(self) -> WordDropout | None:
        if not self.counts:
            return None
        known = self.tokeniser
        stand_in = [known.unknown] * len(self.counts)
        return WordDropout.of(known.options.unknown, self.counts, stand_in, kept={known.unknown, *known.special})

    def _encoded(self, texts: Iterator[str]) -> Iterator[list[int]]:
        while some := list(islice(texts, 1000)):
            yield from self.encode(some, lambda row: "")

    def packer(self) -> Packer:
        return Packer(ids_dtype(len(self.tokeniser.tokens)))

    def encode(self, values: list[Any], place: Place) -> list[list[int]]:
        before, after = self.tokeniser.around
        end = [*after, self.tokeniser.stop]
        rows = self.tokeniser.encode(values)
        if self.options.max_length is not None:
            rows = [row[: self.options.max_length - len(before) - len(end)] for row in rows]
        if self.reverse:
            rows = [row[::-1] for row in rows]
        return [[*before, *row, *end] for row in rows]

    def parse(self, text: str) -> str:
        return text

    def unknown(self, value: Any) -> list[str]:
        return self.tokeniser.unknown_in(value)

    def signal(self, packed: PackedRows, rows: Tensor) -> Signal:
        return Ids(*packed.pad(rows))

    def show(self, signal: Signal) -> list[str]:
        return [self.tokeniser.decode(self._forwards(row)) for row in id_rows(signal)]

    def spelled(self, value: Any) -> str:
        return self.tokeniser.spelled(value)

    def _forwards(self, ids: list[int]) -> list[int]:
        if not self.reverse:
            return ids
        ids = ids[: ids.index(self.tokeniser.stop)] if self.tokeniser.stop in ids else ids
        return ids[::-1]

    def state(self) -> dict[str, Any]:
        return {"tokeniser": self.tokeniser.state(), **self.statistics.state(), "counts": list(self.counts)}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.tokeniser = Tokeniser.restored(state["tokeniser"])
        self.statistics = TokenStatistics.restored(state)
        self.counts = tuple(state.get("counts", ()))  # older checkpoints have no counts


class NumberCodec(FittedCodec):
    """Vectors, or sequences of vectors, standardised to mean 0 and standard deviation 1 over the training split.

    NaN is a missing number, which is read as the mean.
    """

    def __init__(self, dim: int | None = None, *, sequence: bool = False, normalise: bool = True) -> None:
        self.dim, self.sequence, self.normalise = dim, sequence, normalise
        self.mean: Tensor
        self.deviation: Tensor

    @property
    def field(self) -> Field:
        return Field("seq" if self.sequence else "vec", dim=self.dim)

    def learn(self, values: Reread) -> None:
        moments = Moments()
        for value in values(None) if self.normalise or self.dim is None else islice(values(None), 1):
            rows = torch.as_tensor(value, dtype=torch.float64)
            moments.add(rows if self.sequence else rows[None])
            self.dim = rows.shape[-1]
        assert self.dim is not None
        self.mean, self.deviation = torch.zeros(self.dim), torch.ones(self.dim)
        if self.normalise:
            self.mean, self.deviation = moments.scale()

    def packer(self) -> Packer:
        assert self.dim is not None
        return Packer(torch.float32, (self.dim,))

    def encode(self, values: list[Any], place: Place) -> list[Tensor]:
        rows = [torch.as_tensor(value, dtype=torch.float32) for value in values]
        for i, row in enumerate(rows):
            if row.shape[-1] != self.dim:
                raise BadRow(f"{place(i)}: has {row.shape[-1]} numbers, but the training split has {self.dim}.")
        scaled = [(row if self.sequence else row[None]).sub(self.mean).div(self.deviation) for row in rows]
        return [row.masked_fill(row.isnan(), 0.0) for row in scaled]  # the mean, where a number is missing

    def parse(self, text: str) -> list[Any]:
        assert self.dim is not None
        return typed_numbers(text, self.dim, sequence=self.sequence)

    def unscaled(self, values: Tensor) -> Tensor:
        """Values in the units of the data, without the digits that standardised values of float32 do not hold: what was
        0 is 0, and not 3.7e-09."""
        away = values.detach().cpu().double() * self.deviation
        held = torch.maximum(away.abs(), self.mean.abs().double()) * 2**-22
        step = 10 ** held.clamp(min=1e-300).log10().ceil()
        return ((away + self.mean).div(step).round() * step + 0.0).to(values.dtype)  # + 0.0: no -0

    def signal(self, packed: PackedRows, rows: Tensor) -> Signal:
        return Seq(*packed.pad(rows)) if self.sequence else Vec(packed.values[rows])

    def show(self, signal: Signal) -> list[str]:
        values = self.unscaled(signal.values)
        if not isinstance(signal, Seq):
            return [" ".join(f"{number:.4g}" for number in row) for row in values.tolist()]
        rows = zip(values.tolist(), signal.counts.tolist(), strict=True)
        return ["; ".join(" ".join(f"{number:.4g}" for number in step) for step in row[:n]) for row, n in rows]

    def state(self) -> dict[str, Any]:
        return {"mean": self.mean.tolist(), "deviation": self.deviation.tolist()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.mean, self.deviation = torch.tensor(state["mean"]), torch.tensor(state["deviation"])
        self.dim = len(self.mean)


def typed_numbers(text: str, dim: int, *, sequence: bool) -> list[Any]:
    """'0.1,0.9,0.3' as a vector; '1 2; 3 4' as two steps of a sequence. Steps of one number need no semicolon."""
    steps = re.split(r"[;\n]", text) if sequence and dim > 1 else [re.sub(r"[;\n]", " ", text)]
    found: list[Any] = []
    for step in steps:
        try:
            numbers = [float(word) for word in re.split(r"[\s,]+", step.strip()) if word]
        except ValueError as error:
            raise UserError(f"'{text}' is not made of numbers. Write them with commas between: 0.1,0.9,0.3") from error
        if not all(abs(number) <= LARGEST for number in numbers):
            raise UserError(f"'{text}' holds a number that is not finite, or beyond {LARGEST:g}. Leave it out.")
        if not sequence or dim > 1:
            if len(numbers) != dim:
                raise UserError(f"'{step.strip()}' has {len(numbers)} numbers, but the model reads {dim}.")
            found.append(numbers)
        else:
            found += [[number] for number in numbers]
    return found if sequence else found[0]


class Moments:
    """Mean and variance of chunks of rows (Chan et al., 1983), without the cancellation of a sum of squares.

    NaN is a missing number, which does not count.
    """

    def __init__(self) -> None:
        self.count = torch.zeros((), dtype=torch.long)
        self.mean = torch.zeros((), dtype=torch.float64)
        self.squares = torch.zeros((), dtype=torch.float64)  # the sum of squared deviations from the mean

    def add(self, rows: Tensor) -> None:
        """Add a chunk of rows, (n, D)."""
        if len(rows) == 0:
            return
        rows = rows.double()
        here = (~rows.isnan()).sum(0)  # (D,)
        mean, count = rows.nansum(0) / here.clamp(min=1), self.count + here
        away = torch.where(here > 0, mean - self.mean, 0.0)
        share = here / count.clamp(min=1)
        self.squares = self.squares + (rows - mean).square().nansum(0) + away.square() * self.count * share
        self.mean = self.mean + away * share
        self.count = count

    def scale(self) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation; the deviation of a constant column is 1."""
        deviation = (self.squares / self.count.clamp(min=1)).sqrt()
        constant = deviation <= 1e-9 * (1 + self.mean.abs())
        return self.mean.float(), torch.where(constant, torch.ones_like(deviation), deviation).float()


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
