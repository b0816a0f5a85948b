"""The codec of sequences that are already cut into words or tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain
from typing import Any

from composer.core.signals import Contents, Field, Signal
from composer.data.codecs.codec import Place, Reread, TokenCodec, id_rows, unseen
from composer.data.codecs.word_dropout import WordDropout
from composer.data.tokenisers.tokeniser import Tokeniser
from composer.data.tokenisers.word_shapes import learn_shapes, shapes_of


class WordsCodec(TokenCodec):
    """Sequences of words or tags as ids, one id each and no <eos>, so that words and tags stay aligned.

    specials: tokens that are never the id of a known word. With <unk> among them, unknown words are encoded as <unk>;
        without any special token, an unknown word is an error
    shapes: whether an unknown word is encoded as the token of its shape, where there is one (word_shapes.py)
    unknown: the strength of word dropout (word_dropout.py); 0: no word dropout
    column: the column of the words or tags, for messages
    separator: stands between the words of a text; None: white space
    """

    def __init__(
        self, *, specials: tuple[str, ...] = (), vocabulary: int | None = None, lowercase: bool = False,
        axis: str | None = None, what: str = "word", shapes: bool = False, unknown: float = 0.0, column: object = None,
        separator: str | None = None,
    ) -> None:  # fmt: skip
        self.column, self.separator = column, separator
        self.vocabulary, self.lowercase, self.axis, self.what = vocabulary, lowercase, axis, what
        self.with_shapes, self.dropped = shapes, unknown
        self.specials = self.own_specials = specials
        self.shapes: tuple[str, ...] = ()

    @property
    def field(self) -> Field:
        contents = Contents(
            tokens=self.tokens, special=tuple(range(len(self.specials) + len(self.shapes))), idf=self.statistics.idf,
            frequency=self.statistics.frequency, text=self.what == "word", lowercase=self.lowercase, bleu="none",
        )  # fmt: skip
        return Field("ids", vocabulary=len(self.tokens), axis=self.axis, contents=contents)

    def learn(self, values: Reread) -> None:
        counts = Counter(map(self._spelled, chain.from_iterable(values(None))))
        room = None if self.vocabulary is None else self.vocabulary // 2  # shapes leave at least half to the words
        self.shapes = tuple(learn_shapes(counts)[:room]) if self.with_shapes else ()
        reserved = [*self.specials, *self.shapes]
        commonest = sorted(counts.keys() - set(reserved), key=lambda word: (-counts[word], word))
        if self.vocabulary is not None:
            commonest = commonest[: max(1, self.vocabulary - len(reserved))]
        self._know([*reserved, *commonest])
        self.count(values)
        self.counts = tuple(counts[word] for word in self.tokens) if self.dropped else ()

    @property
    def word_dropout(self) -> WordDropout | None:
        if not self.counts or not self.dropped:
            return None
        stand_in = [self._unknown_id(word) for word in self.tokens]
        return WordDropout.of(self.dropped, self.counts, stand_in, kept=self.field.contents.special)

    def _know(self, tokens: list[str]) -> None:
        self.tokens = tuple(tokens)
        self.ids = {token: i for i, token in enumerate(tokens)}
        self.known_shapes = frozenset(self.shapes)

    def _spelled(self, word: str) -> str:
        return word.lower() if self.lowercase else word

    def encode(self, values: list[Any], place: Place) -> list[list[int]]:
        if not self.specials:
            for i, row in enumerate(values):
                for word in self.unknown(row):
                    raise unseen(self.what, word, self.tokens, place(i), self.column)
        return [[self._id(word) for word in row] for row in values]

    def parse(self, text: str) -> list[str]:
        return split_words(text, self.separator)

    def unknown(self, value: Any) -> list[str]:
        return list(dict.fromkeys(word for word in value if self._spelled(word) not in self.ids))

    def _id(self, word: str) -> int:
        spelled = self._spelled(word)
        found = self.ids.get(spelled)
        return self._unknown_id(spelled) if found is None else found

    def _unknown_id(self, word: str) -> int:
        """The id of a word that is not in the vocabulary: that of the token of its shape, or of <unk>."""
        return next((self.ids[shape] for shape in shapes_of(word) if shape in self.known_shapes), self.ids["<unk>"])

    def show(self, signal: Signal) -> list[str]:
        return [(self.separator or " ").join(self.tokens[i] for i in row) for row in id_rows(signal)]

    def spelled(self, value: Any) -> str:
        return (self.separator or " ").join(map(self._spelled, value))

    def state(self) -> dict[str, Any]:
        more = {} if self.specials == self.own_specials else {"specials": list(self.specials)}
        return {"tokens": list(self.tokens), "shapes": list(self.shapes), **more, **super().state()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take over a vocabulary of words, also that of a text which a tokeniser has cut into words."""
        if "tokeniser" in state:
            state = _of_text(state)
        self.specials = tuple(state.get("specials", self.own_specials))
        self.shapes = tuple(state.get("shapes", ()))  # older checkpoints have no shapes
        self._know(list(state["tokens"]))
        super().restore(state)


def split_words(text: str, separator: str | None) -> list[str]:
    """The words of a text, between white space or another separator; words of nothing are left out."""
    return [word for piece in text.split(separator) if (word := piece.strip())]


def _of_text(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of a text as that of a sequence of words, which has the same tokens."""
    tokeniser = Tokeniser.restored(state["tokeniser"])
    if not tokeniser.whole_words:
        raise KeyError("words")  # what is to be restored are no words
    specials = tuple(tokeniser.options.special_names)
    learned = {name: state[name] for name in ("idf", "frequency", "counts") if name in state}
    return {"tokens": tokeniser.tokens, "specials": specials, **learned}
