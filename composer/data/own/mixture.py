"""Several sources with the same fields and one vocabulary, mixed by weights."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, cycle, islice
from typing import Any, TypeVar

import torch
from torch import Tensor

from composer.core.block import Scale
from composer.core.problems import Invalid, UserError, did_you_mean, listed
from composer.core.registry import register
from composer.core.signals import Field, Signal
from composer.data.codecs.word_dropout import WordDropout
from composer.data.example_source import ExampleSource
from composer.data.files.new_files import NewFiles
from composer.data.generated_source import GeneratedSource
from composer.data.own.mixed_rows import Shares, joined
from composer.data.own.mixed_sections import Sections
from composer.data.own.series import Series
from composer.data.own.text import Running
from composer.data.source import RowNumbers, Source, Split, WrittenRow

Answer = TypeVar("Answer")

#: The classes of sources that learn together. The sources of a mixture belong to one of them.
FAMILIES: tuple[type[Source], ...] = (ExampleSource, Running, Series, GeneratedSource)

#: What has to be equal in the fields of all sources.
ALIKE = ("kind", "dim", "vocabulary", "tokens", "channels", "height", "width", "axis", "steps", "names")


@register("data", "mixture")
class Mixture(Source):
    """The fields of the sources. Vocabularies, classes and scales are learned once, from all training splits together.

    Training takes rows of the sources by their weights (mixed_rows.py). Held-out splits have every row of every source.
    """

    every_row: Split = "test"
    rows_by_epoch = True

    def __init__(
        self,
        *,
        sources: dict[str, Any] | None = None,
        weights: dict[str, Scale] | None = None,
        each: dict[str, Any] | None = None,
        only: str | None = None,
    ) -> None:
        if not sources:
            message = "names no source. Give two or more, e.g. {news: {type: text, path: news.txt}, books: {...}}."
            raise Invalid("sources", message)
        self.sections = Sections(sources, each or {})
        _check_weights(weights, self.sections.own)
        if only is not None and only not in self.sections.own:
            raise Invalid("only", f"there is no source '{only}'.{did_you_mean(only, self.sections.own)}")
        self.weights, self.only = weights, only
        self.sources = self.sections.built()
        self._known_shares: dict[Split, Shares] = {}
        self.whole = False  # whether all rows are in the split ``every_row``
        self.restored = False  # whether the shares of training are known from the run that is used now

    @property
    def _first(self) -> Source:
        return next(iter(self.sources.values()))

    @cached_property
    def _mixed(self) -> dict[str, Source]:
        """The sources whose rows are used."""
        return self.sources if self.only is None else {self.only: self.sources[self.only]}

    # What is learned: by the first source, from all; the others take it over.

    def open(self) -> None:
        for name, source in self.sources.items():
            with self.sections.named(name):
                source.check_files()
        self._check_families()
        first = next(iter(self.sources))
        with self._opened(first) as source:
            state = source.state()
        for name in self.sources:
            if self.sections.settings(name) != self.sections.settings(first):
                with self._opened(name) as source:
                    mine = _learned_from_values(source)
                self._check_learned(name, first, mine, state)
            self.sources[name].restore(state)  # the first, too: rows are kept by what is learned and noted
        self._check_fields()

    @contextmanager
    def _opened(self, name: str) -> Iterator[Source]:
        """A source that learns from the training splits of all sources."""
        source = self.sources[name]
        source.together = list(self.sources.values())
        with self.sections.named(name):
            source.open()
            yield source
        source.together = None

    def _check_families(self) -> None:
        first, *others = self.sources
        wanted = _kind_of(self.sources[first])
        for name in others:
            if _kind_of(self.sources[name]) != wanted:
                message = f"has other fields than '{first}': all sources of a mixture need the same names and types."
                raise Invalid(f"sources.{name}", message)

    def _check_learned(self, name: str, first: str, mine: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        one, other = self.sections.settings(first), self.sections.settings(name)
        keys = [key for key in (one | other) if one.get(key) != other.get(key)]
        for field, learned in mine.items():
            if state.get(field) != learned:
                raise Invalid(
                    f"sources.{name}",
                    f"differs from '{first}' in {listed(keys)}, so that it would learn something else for '{field}'. "
                    "All sources of a mixture have one vocabulary or scale: set the same for all, under data.each.",
                )

    def _check_fields(self) -> None:
        first, *others = self.sources
        for name in others:
            found = self.sources[name].fields
            for field, wanted in self.fields.items():
                if field not in found or any(found[field].fact(key) != wanted.fact(key) for key in ALIKE):
                    message = f"has another '{field}' than '{first}': all sources of a mixture need the same fields."
                    raise Invalid(f"sources.{name}", message)

    def state(self) -> dict[str, Any]:
        """What the sources have learned together: the state of one of them, so that a single source can restore it."""
        return self._first.state()

    def restore(self, state: Mapping[str, Any], fields: Collection[str] | None = None) -> None:
        self.whole, self.restored = fields is not None, True
        for name, source in self.sources.items():
            source.new_files = NewFiles(targets=self.new_files.targets)  # its files may be unlike those of the others
            with self.sections.named(name):
                source.restore(state, fields)

    @property
    def fields(self) -> dict[str, Field]:
        return self._first.fields

    @property
    def repeats(self) -> dict[str, set[str]]:
        return self._first.repeats

    @property
    def related(self) -> dict[str, set[str]]:
        return self._first.related

    def show(self, field: str, signal: Signal) -> list[str]:
        return self._first.show(field, signal)

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        return self._first.encode(field, values)

    def unknown(self, field: str, value: Any) -> list[str]:
        return self._first.unknown(field, value)

    def unscaled(self, field: str, values: Tensor) -> Tensor:
        return self._first.unscaled(field, values)

    @property
    def notes(self) -> dict[str, str]:
        return self._first.notes

    @property
    def word_dropout(self) -> dict[str, WordDropout]:
        return self._first.word_dropout

    # Rows.

    def size(self, split: Split) -> int:
        return self._shares(split).total

    def lengths(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        found, _, order = self._asked(split, rows, lambda source, *taken: source.lengths(*taken))
        return {name: torch.cat([lengths[name] for lengths in found]).index_select(0, order) for name in found[0]}

    def batch(self, split: Split, rows: RowNumbers) -> dict[str, Signal]:
        found, _, order = self._asked(split, rows, lambda source, *taken: source.batch(*taken))
        return {name: joined([signals[name] for signals in found], order) for name in found[0]}

    def references(self, field: str, split: Split, rows: RowNumbers) -> list[list[str]] | None:
        found, counts, order = self._asked(split, rows, lambda source, *taken: source.references(field, *taken))
        every = (texts or [[]] * count for texts, count in zip(found, counts, strict=True))
        texts = list(chain.from_iterable(every))
        return [texts[place] for place in order.tolist()]

    def overlap(self, split: Split) -> int:
        return max(source.overlap(self._inner(source, split)) for source in self._mixed.values())

    def loss_weights(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return _weights(*self._asked(split, rows, lambda source, *taken: source.loss_weights(*taken)))

    def step_weights(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        return _weights(*self._asked(split, rows, lambda source, *taken: source.step_weights(*taken)))

    def times(self, field: str, split: Split, rows: RowNumbers, steps: int) -> list[list[str]] | None:
        found, _, order = self._asked(split, rows, lambda source, *taken: source.times(field, *taken, steps))
        if any(times is None for times in found):
            return None
        times = list(chain.from_iterable(times or [] for times in found))
        return [times[place] for place in order.tolist()]

    def written(self, split: Split) -> Iterator[WrittenRow] | None:
        found = [source.written(self._inner(source, split)) for source in self._mixed.values()]
        if any(rows is None for rows in found):
            return None
        counts = self._shares(split).counts
        each = zip((rows for rows in found if rows is not None), counts, strict=True)
        return chain.from_iterable(islice(cycle(rows), count) for rows, count in each)

    @property
    def remarks(self) -> list[str]:
        inside = [remark for source in self.sources.values() for remark in source.remarks]
        if self.restored or self.weights is None or self.only is not None:
            return inside
        shares = self._shares("train")
        parts = zip(self._mixed, shares.counts, shares.sizes, strict=True)
        said = (f"{name} {100 * count / shares.total:.3g} % ({count / size:.3g} times its {size:,} rows)"
                for name, count, size in parts)  # fmt: skip
        return [f"an epoch of training has {shares.total:,} rows: {', '.join(said)}.", *inside]

    def _inner(self, source: Source, split: Split) -> Split:
        """The split of a source that a split of the mixture is made of."""
        return source.every_row if self.whole and split == self.every_row else split

    def _shares(self, split: Split) -> Shares:
        """The rows of every source in a split, found once."""
        if split not in self._known_shares:
            sizes = []
            for name, source in self._mixed.items():
                with self.sections.named(name):
                    empty = self.whole and split != self.every_row
                    sizes.append(0 if empty else source.size(self._inner(source, split)))
                if split == "train" and not self.whole and sizes[-1] == 0:
                    raise UserError(f"data.sources.{name}: its training split has no example. Leave the source out.")
            used = None if split != "train" or self.weights is None or self.whole else self.weights
            weights = None if used is None else [used[name] for name in self._mixed]
            self._known_shares[split] = Shares.of(sizes, weights)
        return self._known_shares[split]

    def _asked(
        self, split: Split, rows: RowNumbers, ask: Callable[[Source, Split, Tensor], Answer]
    ) -> tuple[list[Answer], list[int], Tensor]:
        """What every source that has some of the rows answers about its own, the numbers of these rows, and the order
        that brings the rows of all sources back."""
        which, inside = self._shares(split).find(torch.as_tensor(rows, dtype=torch.long))
        sources = list(self._mixed.values())
        numbers = which.unique().tolist() or [0]  # without any row, the fields of an empty batch
        taken = [inside[which == i] for i in numbers]
        found = [ask(sources[i], self._inner(sources[i], split), own) for i, own in zip(numbers, taken, strict=True)]
        return found, list(map(len, taken)), which.argsort(stable=True).argsort()


def _weights(found: Sequence[Mapping[str, Tensor]], counts: Sequence[int], order: Tensor) -> dict[str, Tensor]:
    """The weights of all rows, by field; the rows of a source that has none for a field weigh 1."""
    shapes = {name: weights.shape[1:] for each in found for name, weights in each.items()}
    parts = {
        name: [each.get(name, torch.ones(count, *shape)) for each, count in zip(found, counts, strict=True)]
        for name, shape in shapes.items()
    }
    return {name: torch.cat(weights).index_select(0, order) for name, weights in parts.items()}


def _check_weights(weights: Mapping[str, float] | None, sources: Collection[str]) -> None:
    for name in weights or ():
        if name not in sources:
            raise Invalid(f"weights.{name}", f"there is no source '{name}'.{did_you_mean(name, sources)}")
    missing = [] if weights is None else [name for name in sources if name not in weights]
    if missing:
        raise Invalid("weights", f"has no weight of {listed(missing)}. Give every source one, or none.")


def _kind_of(source: Source) -> tuple[type[Source], dict[str, type]]:
    """The class of sources with which a source can learn, and the types of its fields where they are declared."""
    family = next((known for known in FAMILIES if isinstance(source, known)), type(source))
    codecs = source.codecs if isinstance(source, ExampleSource) else {}
    return family, {name: type(codec) for name, codec in codecs.items()}


def _learned_from_values(source: Source) -> dict[str, Any]:
    """What a source has learned, without the scales that are measured when its rows are packed."""
    if not isinstance(source, ExampleSource):
        return source.state()
    return {name: codec.state() for name, codec in source.codecs.items() if codec.measured}
