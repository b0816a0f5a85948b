"""Several sources with the same fields and one vocabulary, mixed by weights."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain, cycle, islice
from typing import Any

import torch
from torch import Tensor

from composer.core import registry
from composer.core.binding import bind_knobs, keyword_knobs
from composer.core.block import Scale
from composer.core.problems import ConfigError, Invalid, Problem, Report, UserError, did_you_mean, listed
from composer.core.registry import register
from composer.core.signals import Field, Signal
from composer.data.codecs.word_dropout import WordDropout
from composer.data.example_source import ExampleSource
from composer.data.files.new_files import NewFiles
from composer.data.generated_source import GeneratedSource
from composer.data.own.joined_signals import joined
from composer.data.own.series import Series
from composer.data.own.shares import Shares
from composer.data.own.text import Running
from composer.data.source import ReadLate, RowNumbers, Source, Split, WrittenRow

#: The classes of sources that learn together. The sources of a mixture belong to one of them.
FAMILIES: tuple[type[Source], ...] = (ExampleSource, Running, Series, GeneratedSource)

#: Keys that say where rows come from. Sources that differ in nothing else learn the same from the same rows.
PLACES = ("path", "valid", "test", "seed", "encoding")

#: What has to be equal in the fields of all sources.
ALIKE = ("kind", "dim", "vocabulary", "tokens", "channels", "height", "width", "axis", "steps", "names")


@register("data", "mixture")
class Mixture(Source):
    """The fields of the sources. Vocabularies, classes and scales are learned once, from all training splits together.

    Training takes rows of the sources by their weights (shares.py). Held-out splits have every row of every source.
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
        self.each = each or {}
        self.sections: dict[str, dict[str, Any]] = {name: _section(name, given) for name, given in sources.items()}
        _check_weights(weights, self.sections)
        if only is not None and only not in self.sections:
            raise Invalid("only", f"there is no source '{only}'.{did_you_mean(only, self.sections)}")
        self.weights, self.only = weights, only
        self.sources = self._built()
        self.whole = False  # whether all rows are in the split ``every_row``
        self.restored = False  # whether the shares of training are known from the run that is used now

    def _built(self) -> dict[str, Source]:
        report, builders = Report(), {}
        for name, section in self.sections.items():
            values = self.each | section
            path = f"data.sources.{name}"
            known, kind = registry.entries("data"), values.pop("type", None)
            if kind not in known or kind == "mixture":
                found = "has no type" if kind is None else f"there is no data '{kind}'.{did_you_mean(kind, known)}"
                nested = "is a mixture itself. List its sources here, with weights of their own."
                more = "" if kind == "mixture" else f"  (data: {listed(known, 40)})"
                report.add(f"{path}.type", (nested if kind == "mixture" else found) + more)
                continue
            bound = bind_knobs(kind, keyword_knobs(known[kind]), values, path, report)
            if bound is not None:
                builders[name] = (known[kind], bound)
        if report.problems:
            raise ConfigError([Problem(self._written_at(p.path), p.message) for p in report.problems])
        built = {}
        for name, (build, bound) in builders.items():
            with self._named(name):
                built[name] = build(**bound)
                built[name].section = self.each | self.sections[name]
        return built

    def _written_at(self, path: str) -> str:
        """The path of a value of a source, which is that of ``each`` where the value was written there."""
        head, _, rest = path.removeprefix("data.").removeprefix("sources.").partition(".")
        key = rest.partition(".")[0]
        return f"data.each.{rest}" if key in self.each and key not in self.sections[head] else path

    @contextmanager
    def _named(self, name: str) -> Iterator[None]:
        """Give an error of a source the place of the source."""
        try:
            yield
        except Invalid as error:
            path = self._written_at(f"data.sources.{name}.{error.parameter}")
            raise Invalid(path.removeprefix("data."), error.message) from error
        except ReadLate as error:
            path = self._written_at(f"data.sources.{name}.{error.parameter}")
            raise ReadLate(path.removeprefix("data."), error.message) from error
        except UserError as error:
            if type(error) is not UserError:  # a bad row, for example, which names its file
                raise
            raise UserError(f"data.sources.{name}: {error}") from error

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
            with self._named(name):
                source.check_files()
        self._check_families()
        first = next(iter(self.sources))
        with self._opened(first) as source:
            state = source.state()
        for name in self.sources:
            if self._settings(name) != self._settings(first):
                with self._opened(name) as source:
                    mine = _learned_from_values(source)
                self._check_learned(name, first, mine, state)
            self.sources[name].restore(state)  # the first, too: packed rows are kept by what their source was given
        self._check_fields()

    @contextmanager
    def _opened(self, name: str) -> Iterator[Source]:
        """A source that learns from the training splits of all sources."""
        source = self.sources[name]
        source.together = list(self.sources.values())
        with self._named(name):
            source.open()
            yield source
        source.together = None

    def _settings(self, name: str) -> dict[str, Any]:
        return {key: value for key, value in (self.each | self.sections[name]).items() if key not in PLACES}

    def _check_families(self) -> None:
        first, *others = self.sources
        wanted = _kind_of(self.sources[first])
        for name in others:
            if _kind_of(self.sources[name]) != wanted:
                message = f"has other fields than '{first}': all sources of a mixture need the same names and types."
                raise Invalid(f"sources.{name}", message)

    def _check_learned(self, name: str, first: str, mine: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        one, other = self._settings(first), self._settings(name)
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
                if field not in found or any(getattr(found[field], key) != getattr(wanted, key) for key in ALIKE):
                    message = f"has another '{field}' than '{first}': all sources of a mixture need the same fields."
                    raise Invalid(f"sources.{name}", message)

    def state(self) -> dict[str, Any]:
        """What the sources have learned together: the state of one of them, so that a single source can restore it."""
        return self._first.state()

    def restore(self, state: Mapping[str, Any], fields: Collection[str] | None = None) -> None:
        self.whole, self.restored = fields is not None, True
        for name, source in self.sources.items():
            source.new_files = NewFiles(targets=self.new_files.targets)  # its files may be unlike those of the others
            with self._named(name):
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
        parts, order = self._taken(split, rows)
        found = [source.lengths(inner, numbers) for source, inner, numbers in parts]
        return {name: torch.cat([lengths[name] for lengths in found]).index_select(0, order) for name in found[0]}

    def batch(self, split: Split, rows: RowNumbers) -> dict[str, Signal]:
        parts, order = self._taken(split, rows)
        found = [source.batch(inner, numbers) for source, inner, numbers in parts]
        return {name: joined([signals[name] for signals in found], order) for name in found[0]}

    def references(self, field: str, split: Split, rows: RowNumbers) -> list[list[str]] | None:
        parts, order = self._taken(split, rows)
        found = [source.references(field, inner, numbers) for source, inner, numbers in parts]
        joined_texts = [
            text
            for texts, (_, _, numbers) in zip(found, parts, strict=True)
            for text in (texts if texts is not None else [[]] * len(numbers))
        ]
        return [joined_texts[place] for place in order.tolist()]

    def overlap(self, split: Split) -> int:
        return max(source.overlap(self._inner(source, split)) for source in self._mixed.values())

    def loss_weights(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        parts, order = self._taken(split, rows)
        found = [source.loss_weights(inner, numbers) for source, inner, numbers in parts]
        ones = [torch.ones(len(numbers)) for _, _, numbers in parts]
        names = dict.fromkeys(name for weights in found for name in weights)
        every = {name: [weights.get(name, one) for weights, one in zip(found, ones, strict=True)] for name in names}
        return {name: torch.cat(weights).index_select(0, order) for name, weights in every.items()}

    def step_weights(self, split: Split, rows: RowNumbers) -> dict[str, Tensor]:
        parts, order = self._taken(split, rows)
        found = [source.step_weights(inner, numbers) for source, inner, numbers in parts]
        shapes = {name: weights.shape[1:] for each in found for name, weights in each.items()}
        counts = [len(numbers) for _, _, numbers in parts]
        return {
            name: torch.cat(
                [each.get(name, torch.ones(count, *shape)) for each, count in zip(found, counts, strict=True)]
            ).index_select(0, order)
            for name, shape in shapes.items()
        }

    def times(self, field: str, split: Split, rows: RowNumbers, steps: int) -> list[list[str]] | None:
        parts, order = self._taken(split, rows)
        found = [source.times(field, inner, numbers, steps) for source, inner, numbers in parts]
        known = [times for times in found if times is not None]
        if len(known) < len(found):
            return None
        every = list(chain.from_iterable(known))
        return [every[place] for place in order.tolist()]

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

    @cached_property
    def _known_shares(self) -> dict[Split, Shares]:
        return {}

    def _shares(self, split: Split) -> Shares:
        """The rows of every source in a split, found once."""
        if split not in self._known_shares:
            sizes = []
            for name, source in self._mixed.items():
                with self._named(name):
                    empty = self.whole and split != self.every_row
                    sizes.append(0 if empty else source.size(self._inner(source, split)))
                if split == "train" and not self.whole and sizes[-1] == 0:
                    raise UserError(f"data.sources.{name}: its training split has no example. Leave the source out.")
            used = None if split != "train" or self.weights is None or self.whole else self.weights
            weights = None if used is None else [used[name] for name in self._mixed]
            self._known_shares[split] = Shares.of(sizes, weights)
        return self._known_shares[split]

    def _taken(self, split: Split, rows: RowNumbers) -> tuple[list[tuple[Source, Split, Tensor]], Tensor]:
        """The rows by source: each source with its split and rows, and the order that brings all of them back."""
        which, inside = self._shares(split).find(torch.as_tensor(rows, dtype=torch.long))
        by_source = which.argsort(stable=True)
        sources = list(self._mixed.values())
        numbers = which.unique().tolist() or [0]  # without any row, the fields of an empty batch
        parts = [(sources[i], self._inner(sources[i], split), inside[which == i]) for i in numbers]
        return parts, by_source.argsort()


def _section(name: str, given: Any) -> dict[str, Any]:
    """The keys of a source. A text is its path."""
    if isinstance(given, str):
        return {"path": given}
    if not isinstance(given, Mapping):
        raise Invalid(f"sources.{name}", f"expected the keys of a source, or its path, found {given!r}.")
    return dict(given)


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
