"""The base class of generated tasks. Example i is a pure function of the seed, the split and i; nothing is stored."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, dataclass_transform

import torch
from torch import Tensor

from composer.core.block import Positive
from composer.core.problems import Invalid, UserError, did_you_mean, listed
from composer.core.signals import Contents, Field, Ids, Signal, Timed
from composer.data.codecs.codec import encoded, id_rows
from composer.data.codecs.number_codec import NumberCodec
from composer.data.codecs.token_statistics import TokenStatistics
from composer.data.counter_random import below, uniform
from composer.data.packed.packed_rows import padded
from composer.data.source import SPLITS, RowNumbers, Source, Split

#: The number of examples from which the statistics of tokens are computed.
COUNTED = 200

#: A number, or the smallest and the largest number.
Span = Positive | list[Positive]


@dataclass(frozen=True)
class Spans:
    """The smallest and the largest size of examples, such as their length, in every split.

    key: the key of the training's largest size. ``valid_`` and ``test_`` before it give the keys of the other splits
    """

    key: str
    bounds: dict[Split, tuple[int, int]]

    @classmethod
    def of(cls, key: str, train: Span, valid: Span | None, test: Span | None, *, least: int | None = None) -> Spans:
        """From the values of the keys. A number is the size of all examples or, where ``least`` is given, the largest.

        valid, test: None: as in training
        least: the smallest size in training, the value of the key ``min_...``
        """
        if least is not None and isinstance(train, int) and least > train:
            raise Invalid(f"min_{key}", f"{least} is more than {key}, {train}.")
        given: dict[Split, Span | None] = {"train": train, "valid": valid, "test": test}
        bounds: dict[Split, tuple[int, int]] = {}
        spans = cls(key, bounds)
        for split, span in given.items():
            if span is None:
                bounds[split] = bounds["train"]
            elif isinstance(span, int):
                bounds[split] = (span if least is None else least, span)
                if bounds[split][0] > span:
                    message = f"{span} is less than min_{key}, {least}. Write a range, e.g. [{span}, {span}]."
                    raise spans.problem(split, message)
            else:
                if len(span) != 2 or span[0] > span[1]:
                    raise spans.problem(split, f"{span} is no range. Write [smallest, largest], e.g. [40, 256].")
                bounds[split] = (span[0], span[1])
        return spans

    def problem(self, split: Split, message: str) -> Invalid:
        """The error for the key of the sizes of a split."""
        return Invalid(self.key if split == "train" else f"{split}_{self.key}", message)

    def require(self, least: int, why: str) -> None:
        """Raise an error for the first split with sizes below ``least``."""
        for split in SPLITS:
            if self.least(split) < least:
                raise self.problem(split, f"is {self.least(split)}{why}. Take {least} or more.")

    def require_even(self, what: str) -> None:
        """Raise an error for the first split with an odd size."""
        for split in SPLITS:
            if self.most(split) % 2:
                raise self.problem(split, f"is {self.most(split)}, but {what} have two steps each.")

    def least(self, split: Split) -> int:
        return self.bounds[split][0]

    def most(self, split: Split) -> int:
        return self.bounds[split][1]

    @property
    def fixed(self) -> int | None:
        """The size, where every example of every split has the same."""
        sizes = {size for span in self.bounds.values() for size in span}
        return sizes.pop() if len(sizes) == 1 else None

    def drawn(self, draws: Tensor, split: Split) -> Tensor:
        """(B,) sizes, uniform in the range of the split, ends included. draws: (B, 1)."""
        least, most = self.bounds[split]
        return least + below(draws[:, 0], most - least + 1)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
@dataclass(kw_only=True, eq=False, repr=False)
class GeneratedSource(Source):
    """A subclass declares its knobs as attributes with a type and a default, which its constructor takes as keywords,
    and defines the fields and ``make``."""

    every_row = "test"

    train_size: Positive = 100000
    valid_size: Positive = 1000
    seed: int = 0

    def __init_subclass__(cls) -> None:
        dataclass(kw_only=True, eq=False, repr=False)(cls)

    def __post_init__(self) -> None:
        self.sizes = {"train": self.train_size, "valid": self.valid_size, "test": self.valid_size}
        self.prepare()

    def prepare(self) -> None:
        """Check the knobs, and make of them what is needed often."""

    @abstractmethod
    def bare_fields(self) -> dict[str, Field]:
        """The fields without the statistics of their tokens."""

    @abstractmethod
    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        """Generate these examples."""

    def counted(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        """The tokens of these examples, to be counted. A task whose other fields take long overrides this."""
        return self.make(split, rows)

    def draw(self, name: str, split: Split, rows: Tensor, count: int) -> Tensor:
        """(B, count) uniform numbers; different names give independent numbers."""
        return uniform(self.seed, f"{split}/{name}", rows, count)

    def integers(self, name: str, split: Split, rows: Tensor, count: int, limit: Tensor | int) -> Tensor:
        """(B, count) uniform integers from 0 to ``limit - 1``."""
        return below(self.draw(name, split, rows, count), limit)

    @cached_property
    def fields(self) -> dict[str, Field]:
        fields = self.bare_fields()
        tokens = [name for name, field in fields.items() if field.kind == "ids"]
        signals = self.counted("train", torch.arange(min(COUNTED, self.sizes["train"]))) if tokens else {}
        return fields | {name: _counted(fields[name], signals[name]) for name in tokens}

    def size(self, split: Split) -> int:
        return self.sizes[split]

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        """The lengths, found by generating the rows. Most tasks override this with a cheaper computation."""
        made = self.make(split, torch.as_tensor(rows, dtype=torch.long))
        own = (name for name, field in self.bare_fields().items() if field.timed and field.is_own_axis(name))
        return {name: made[name].counts for name in own}  # type: ignore[attr-defined]

    def batch(self, split: Split, rows: RowNumbers) -> dict[str, Signal]:
        return self.make(split, torch.as_tensor(rows, dtype=torch.long))

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        described = self.bare_fields()[field]
        if described.contents.tokens is None:
            assert described.dim is not None
            codec = NumberCodec(described.dim, sequence=described.timed)
            codec.mean, codec.deviation = torch.zeros(described.dim), torch.ones(described.dim)
            return encoded(codec, values)
        rows = [_numbered(value, described.contents.tokens) for value in values]
        return cut(*padded(rows))

    def show(self, field: str, signal: Signal) -> list[str]:
        tokens = self.bare_fields()[field].contents.tokens
        if isinstance(signal, Ids):
            assert tokens is not None
            return [" ".join(tokens[i] for i in _until(row, tokens)) for row in id_rows(signal)]
        if tokens is not None:
            return [tokens[i] for i in signal.values.tolist()]
        values = signal.values.detach().cpu()
        counts = signal.counts.tolist() if isinstance(signal, Timed) else [None] * len(values)
        steps = [row[:count].flatten().tolist() for row, count in zip(values, counts, strict=True)]
        return [" ".join(f"{number:.3g}" for number in row) for row in steps]


class FixedLength(GeneratedSource):
    """A task all of whose examples are equally long in each split."""

    length: Positive
    valid_length: Positive | None = None
    test_length: Positive | None = None

    def __post_init__(self) -> None:
        self.spans = Spans.of("length", self.length, self.valid_length, self.test_length)
        super().__post_init__()

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return {name: one.repeat(len(rows)) for name, one in super().lengths(split, [0]).items()}


class DrawnLength(GeneratedSource):
    """A task whose examples have lengths that are drawn, each as likely as any other in the range of the split."""

    length: Positive = 40
    min_length: Positive = 1
    valid_length: Span | None = None
    test_length: Span | None = None

    def __post_init__(self) -> None:
        self.spans = Spans.of("length", self.length, self.valid_length, self.test_length, least=self.min_length)
        super().__post_init__()

    def row_lengths(self, split: Split, rows: RowNumbers) -> Tensor:
        """(B,), the lengths of these examples."""
        return self.spans.drawn(self.draw("length", split, torch.as_tensor(rows, dtype=torch.long), 1), split)


def vocabulary_field(
    kind: Literal["ids", "label"], tokens: tuple[str, ...], *, start: int | None = None, stop: int | None = None,
    blank: int | None = None, axis: str | None = None, foretells: str | None = None,
) -> Field:  # fmt: skip
    """The field of ids or classes with these names."""
    return Field(
        kind, vocabulary=len(tokens), start=start, stop=stop, blank=blank, axis=axis, foretells=foretells,
        contents=Contents(tokens=tokens),
    )  # fmt: skip


def answer_field(answers: tuple[str, ...]) -> Field:
    """The field of answers along the source; 0 is <blank>, at steps where nothing is asked for."""
    return vocabulary_field("ids", ("<blank>", *answers), blank=0, axis="source")


def asking_field(tokens: tuple[str, ...]) -> Field:
    """The field of sequences along which an answer is asked for: 0 is <blank>, and 1 is <ask>."""
    return vocabulary_field("ids", ("<blank>", "<ask>", *tokens))


def ended_field(tokens: tuple[str, ...]) -> Field:
    """The field of sequences that begin with <sos>, 0, and end with <eos>, 1."""
    return vocabulary_field("ids", ("<sos>", "<eos>", *tokens), start=0, stop=1)


def numbered(count: int, prefix: str = "") -> tuple[str, ...]:
    """The names of so many symbols."""
    return tuple(f"{prefix}{i}" for i in range(count))


def _counted(field: Field, signal: Signal) -> Field:
    """The field with the statistics of its tokens in some examples."""
    found = TokenStatistics.of(field.vocabulary or 0, id_rows(signal))
    return replace(field, contents=replace(field.contents, idf=found.idf, frequency=found.frequency))


def _numbered(value: Any, tokens: tuple[str, ...]) -> list[int]:
    """The ids of tokens, given as a list or as a text with spaces. Where all tokens are single letters, spaces are
    optional."""
    if isinstance(value, str):
        short = all(len(token) == 1 for token in tokens if not token.startswith("<"))
        value = value.split() if not short else re.findall(r"<\w+>|\S", value)
    for token in value:
        if token not in tokens:
            raise UserError(
                f"'{token}' is no token of this data.{did_you_mean(token, tokens)}  (has: {listed(tokens)})"
            )
    return [tokens.index(token) for token in value]


def _until(row: list[int], tokens: tuple[str, ...]) -> list[int]:
    """The ids before <eos>."""
    return next((row[:i] for i, token in enumerate(row) if tokens[token] == "<eos>"), row)


def ended(values: Tensor, lengths: Tensor) -> Ids:
    """Rows of ids with <eos>, 1, after the last id of each row."""
    B = len(values)
    longer = torch.cat([values, values.new_zeros(B, 1)], dim=1)
    longer[torch.arange(B), lengths] = 1
    time = int(lengths.max()) + 1 if B else 1
    return cut(longer[:, :time], lengths + 1)


def cut(values: Tensor, lengths: Tensor) -> Ids:
    """Rows of ids, cut to the longest row, with zeros in the padding. Without padding, the signal has no lengths."""
    values = values[:, : int(lengths.max()) if len(values) else 0]
    if bool((lengths == values.shape[1]).all()):
        return Ids(values.contiguous())
    real = torch.arange(values.shape[1]) < lengths[:, None]
    return Ids(values.masked_fill(~real, 0), lengths)
