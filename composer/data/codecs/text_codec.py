"""The codec of texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain
from typing import Any, Literal

from composer.core.signals import Contents, Field, Signal
from composer.data.codecs.codec import Place, Reread, TokenCodec, id_rows
from composer.data.codecs.word_dropout import WordDropout
from composer.data.tokenisers.auto import choose
from composer.data.tokenisers.tokeniser import Tokeniser, Tokenising


class TextCodec(TokenCodec):
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
        self.know(tokeniser)
        self.count(values)
        if self.given and tokeniser.whole_words and tokeniser.options.unknown:
            counts = Counter(chain.from_iterable(self.encoded(values(self.options.rows))))
            self.counts = tuple(counts[token] for token in range(len(self.tokens)))

    def know(self, tokeniser: Tokeniser) -> None:
        """Use a tokeniser without counting its tokens."""
        self.tokeniser, self.tokens = tokeniser, tokeniser.tokens

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

    def encode(self, values: list[Any], place: Place) -> list[list[int]]:
        before, after = self.tokeniser.around
        end = [*after, self.tokeniser.stop]
        rows = self.tokeniser.encode(values)
        if self.options.max_length is not None:
            rows = [row[: self.options.max_length - len(before) - len(end)] for row in rows]
        if self.reverse:
            rows = [row[::-1] for row in rows]
        return [[*before, *row, *end] for row in rows]

    def unknown(self, value: Any) -> list[str]:
        return self.tokeniser.unknown_in(value)

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
        return {"tokeniser": self.tokeniser.state(), **super().state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        self.know(Tokeniser.restored(state["tokeniser"]))
