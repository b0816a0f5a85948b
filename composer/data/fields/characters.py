"""The characters of every word of another field."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Annotated, Any

import torch
from torch import Tensor

from composer.core.block import Range
from composer.core.registry import register
from composer.core.signals import Contents, Field, Signal, Spelling
from composer.data.codecs.codec import Codec, Place, Reread
from composer.data.fields.field_type import FieldKeys
from composer.data.fields.words import AlongWords
from composer.data.tables.table import Column

#: The tokens that are no character: behind the end of a word, and a character that the training split does not have.
END, UNKNOWN = 0, 1

#: A word that is cut has its first and its last characters, at least one of each.
Characters = Annotated[int, Range(low=2, high=200)]


@register("field", "characters")
class CharactersOfWords(AlongWords):
    """The characters of every word of another field, also of words that are not in its vocabulary.

    along: the field of words, of the same column
    length: the most characters of a word; of a longer word, the first and the last ones
    """

    shares_column = True

    def __init__(self, key: FieldKeys, *, column: Column, along: str, length: Characters = 16) -> None:
        self.along = along
        super().__init__(key, {"column": column}, SpellingCodec(length, along))


class SpellingCodec(Codec):
    """Lists of words as the numbers of their characters, each word padded with 0 to ``length``."""

    def __init__(self, length: int, axis: str) -> None:
        self.length, self.axis = length, axis
        self.tokens: tuple[str, ...]

    @property
    def field(self) -> Field:
        contents = Contents(tokens=self.tokens, special=(END, UNKNOWN))
        return Field("spelling", vocabulary=len(self.tokens), width=self.length, axis=self.axis, contents=contents)

    def learn(self, values: Reread) -> None:
        self._know(["", "<unk>", *sorted(set(chain.from_iterable(chain.from_iterable(values(None)))))])

    def _know(self, tokens: list[str]) -> None:
        self.tokens = tuple(tokens)
        self.ids = {token: i for i, token in enumerate(tokens) if i > UNKNOWN}

    def encode(self, values: list[Any], place: Place) -> list[Tensor]:
        rows = []
        for words in values:
            spelled = [[self.ids.get(character, UNKNOWN) for character in self._cut(word)] for word in words]
            rows.append(torch.tensor([ids + [END] * (self.length - len(ids)) for ids in spelled], dtype=torch.int32))
        return rows

    def _cut(self, word: str) -> str:
        if len(word) <= self.length:
            return word
        head = self.length // 2
        return word[:head] + word[head - self.length :]

    def parse(self, text: str) -> list[str]:
        return text.split()

    def unknown(self, value: Any) -> list[str]:
        return list(dict.fromkeys(character for word in value for character in word if character not in self.ids))

    def show(self, signal: Signal) -> list[str]:
        assert isinstance(signal, Spelling)
        rows = zip(signal.values.tolist(), signal.counts.tolist(), strict=True)
        return [" ".join("".join(self.tokens[i] for i in word) for word in row[:count]) for row, count in rows]

    def state(self) -> dict[str, Any]:
        return {"tokens": list(self.tokens), "length": self.length}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._know(list(state["tokens"]))
        self.length = int(state["length"])
