"""A source whose fields have codecs. What these learn from the training split is kept between runs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from torch import Tensor

from composer.core.problems import UserError
from composer.core.signals import Field, Signal
from composer.data.cache import Entry, SourceCache, learned_from
from composer.data.codecs.codec import Codec, encoded
from composer.data.codecs.number_codec import NumberCodec
from composer.data.codecs.word_dropout import WordDropout
from composer.data.source import Source, check_state


class CodecSource(Source):
    codecs: dict[str, Codec]

    #: What ``notes`` returned in the earlier run that learned the codecs; empty where they were learned in this run.
    known_notes: Mapping[str, str] = {}

    #: The keys of the section on which does not depend what the codecs learn.
    learned_without: tuple[str, ...] = ()

    @cached_property
    def cache(self) -> SourceCache:
        return SourceCache(self.section, self.inputs)

    @property
    def fields(self) -> dict[str, Field]:
        return {name: codec.field for name, codec in self.codecs.items()}

    @abstractmethod
    def learn(self) -> None:
        """Learn all codecs from the training split."""

    def open(self) -> None:
        """Learn the codecs, or take what they learned in an earlier run from the same files."""
        depends = partial(learned_from, self.together)
        entry = self.cache.get("learned", depends, lambda folder: self._learned(), free=self.learned_without)
        if not entry.fresh:
            self.recall(entry.facts)

    def _learned(self) -> Entry:
        self.learn()
        measured = all(codec.measured for codec in self.codecs.values())  # otherwise packing learns the rest
        return Entry(self.facts() if measured else {}, kept=measured)

    def facts(self) -> dict[str, Any]:
        """All that later runs need besides the packed rows, as plain data."""
        state = {name: codec.state() for name, codec in self.codecs.items()}
        return {"state": state, "notes": self.notes, "found": self.found()}

    def recall(self, facts: Mapping[str, Any]) -> None:
        """Take what ``facts`` returned in an earlier run."""
        for name, codec in self.codecs.items():
            codec.restore(facts["state"][name])
        self.known_notes = facts["notes"]
        self.recall_found(facts["found"])

    def found(self) -> dict[str, Any]:
        """What was found in the files besides examples, as plain data: notes and bad rows."""
        return {}

    def recall_found(self, found: Mapping[str, Any]) -> None:
        """Take what ``found`` returned in an earlier run."""

    def show(self, field: str, signal: Signal) -> list[str]:
        return self.codecs[field].show(signal)

    def encode(self, field: str, values: Sequence[Any]) -> Signal:
        return encoded(self.codecs[field], values)

    def unknown(self, field: str, value: Any) -> list[str]:
        codec = self.codecs[field]
        return codec.unknown(codec.parse(value) if isinstance(value, str) else value)

    def unscaled(self, field: str, values: Tensor) -> Tensor:
        codec = self.codecs[field]
        return codec.unscaled(values) if isinstance(codec, NumberCodec) else values

    @property
    def notes(self) -> dict[str, str]:
        found = {name: codec.note for name, codec in self.codecs.items()}
        return dict(self.known_notes) or {name: note for name, note in found.items() if note is not None}

    @property
    def word_dropout(self) -> dict[str, WordDropout]:
        found = {name: codec.word_dropout for name, codec in self.codecs.items()}
        return {name: dropout for name, dropout in found.items() if dropout is not None}

    def state(self) -> dict[str, Any]:
        return {name: codec.state() for name, codec in self.codecs.items()}

    def restore(self, state: Mapping[str, Any], fields: Collection[str] | None = None) -> None:
        """Restore the codecs. ``fields`` is ignored here: data that comes with a package always has all fields."""
        check_state(state, self.codecs)
        for name, codec in self.codecs.items():
            try:
                codec.restore(state[name])
            except (KeyError, TypeError) as error:
                raise UserError(
                    f"what is to be restored for '{name}' is not what this data has learned. "
                    "Use data of the kind that the checkpoint was trained with."
                ) from error
