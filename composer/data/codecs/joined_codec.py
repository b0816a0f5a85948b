"""The codec of a sequence that is made of parts, each with a tokeniser of its own: letters, then whole tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from composer.core.problems import UserError
from composer.core.signals import Contents, Field, Ids, Signal
from composer.data.codecs.codec import Place, Reread, TokenCodec, id_rows
from composer.data.codecs.text_codec import TextCodec
from composer.data.codecs.word_dropout import WordDropout
from composer.data.codecs.words_codec import WordsCodec
from composer.data.packed.packed_rows import padded
from composer.data.tokenisers.tokeniser import EOS, SOS

START, STOP = 0, 1


class JoinedCodec(TokenCodec):
    """The tokens of all parts, one part after the other, ended by <eos>.

    No two parts share a token: the letter V and the tag V have different ids. A token of the first part is called what
    its own vocabulary calls it, one of another part has the part's name before it: features:V.

    A value is a mapping from the name of a part to the value of the part's codec.

    separator: stands between the parts of a text that is typed or shown
    """

    def __init__(self, parts: Mapping[str, TextCodec | WordsCodec], separator: str) -> None:
        self.parts, self.separator = dict(parts), separator
        self.places: dict[str, list[int]]  # for every part, the ids here of the ids of its own vocabulary

    @property
    def field(self) -> Field:
        own = {name: codec.field for name, codec in self.parts.items()}
        special = {self.places[name][i] for name, field in own.items() for i in field.contents.special} - {START, STOP}
        contents = Contents(
            tokens=self.tokens, special=tuple(sorted(special)), idf=self.statistics.idf,
            frequency=self.statistics.frequency, text=True,
            lowercase=all(field.contents.lowercase for field in own.values()), grows=False,
        )  # fmt: skip
        return Field("ids", vocabulary=len(self.tokens), start=START, stop=STOP, contents=contents)

    def learn(self, values: Reread) -> None:
        for name, codec in self.parts.items():
            codec.learn(lambda limit, name=name: (value[name] for value in values(limit)))  # type: ignore[misc]
        self._number()
        self.count(values)

    def _number(self) -> None:
        """Number the tokens of all parts. <sos> and <eos> of a part are those of the whole."""
        tokens, self.places = [SOS, EOS], {}
        for name, codec in self.parts.items():
            field, prefix = codec.field, f"{name}:" if self.places else ""
            ends = {field.start: START, field.stop: STOP}
            self.places[name] = []
            for i, token in enumerate(field.contents.tokens or ()):
                self.places[name].append(ends.get(i, len(tokens)))
                if i not in ends:
                    tokens.append(prefix + token)
        self.tokens = tuple(tokens)

    @property
    def note(self) -> str | None:
        notes = {name: codec.note for name, codec in self.parts.items()}
        return "; ".join(f"{name}: {note}" for name, note in notes.items() if note is not None) or None

    @property
    def word_dropout(self) -> WordDropout | None:
        found = {name: codec.word_dropout for name, codec in self.parts.items()}
        if not any(found.values()):
            return None
        chance = torch.zeros(len(self.tokens), dtype=torch.float64)
        stand_in = torch.arange(len(self.tokens))
        for name, dropout in found.items():
            if dropout is not None:
                places = torch.tensor(self.places[name])
                chance[places], stand_in[places] = dropout.chance, places[dropout.stand_in]
        return WordDropout(chance, stand_in)

    def encode(self, values: list[Any], place: Place) -> list[list[int]]:
        rows: list[list[int]] = [[] for _ in values]
        for name, codec in self.parts.items():
            places = self.places[name]
            for row, found in zip(rows, codec.encode([value[name] for value in values], place), strict=True):
                row += [places[i] for i in found if places[i] != STOP]
        return [[*row, STOP] for row in rows]

    def parse(self, text: str) -> dict[str, Any]:
        pieces = text.split(self.separator.strip() or self.separator)
        if len(pieces) != len(self.parts):
            wanted = self.separator.join(self.parts)
            raise UserError(f"'{text}' has {len(pieces)} of {len(self.parts)} parts. Write {wanted}.")
        typed = zip(self.parts.items(), pieces, strict=True)
        return {name: codec.parse(piece.strip()) for (name, codec), piece in typed}

    def unknown(self, value: Any) -> list[str]:
        return list(dict.fromkeys(word for name, codec in self.parts.items() for word in codec.unknown(value[name])))

    def show(self, signal: Signal) -> list[str]:
        rows = [row[: row.index(STOP)] if STOP in row else row for row in id_rows(signal)]
        shown = []
        for name, codec in self.parts.items():
            own = {place: i for i, place in enumerate(self.places[name]) if place not in (START, STOP)}
            shown.append(codec.show(Ids(*padded([[own[i] for i in row if i in own] for row in rows]))))
        return [self.separator.join(texts) for texts in zip(*shown, strict=True)]

    def spelled(self, value: Any) -> str:
        return self.separator.join(codec.spelled(value[name]) for name, codec in self.parts.items())

    def state(self) -> dict[str, Any]:
        return {"parts": {name: codec.state() for name, codec in self.parts.items()}, **super().state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        for name, codec in self.parts.items():
            codec.restore(state["parts"][name])
        self._number()
        super().restore(state)
