"""Tokenisers: texts to token ids and back.

A type of tokeniser is a subclass of ``TokeniserType`` under ``@register("tokeniser", name)``. ``Tokeniser`` adds to it
what all types have in common: special tokens, the frame, small letters.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import torch
from torch import Tensor

from composer.core import registry
from composer.core.block import Positive, Range, Section
from composer.core.problems import Invalid

SOS, EOS, UNK = "<sos>", "<eos>", "<unk>"
SPECIALS = (SOS, EOS, UNK)

#: The name of a registered tokeniser.
TypeName = Annotated[str, Section("tokeniser")]

#: Returns the texts to learn from; every call starts again with the first text.
Texts = Callable[[], Iterable[str]]


@dataclass(frozen=True)
class Tokenising:
    """The settings ``tokeniser`` of a source of texts; conf/data/pairs.yaml describes each.

    own: the keys that the constructor of this type of tokeniser takes besides, by name
    """

    type: TypeName = "characters"
    vocabulary: Positive = 8000
    min_count: Positive | None = None
    unknown: Annotated[float, Range(low=0)] = 0.25
    lowercase: bool = False
    punctuation: bool = True
    specials: list[str] | None = None
    frame: list[str] | None = None
    max_length: Positive | None = None
    bleu: Literal["13a", "zh", "char", "none"] = "13a"
    rows: Positive | None = 200000
    own: Mapping[str, Any] = field(default_factory=dict)

    def check(self, key: str) -> None:
        for option, names in (("specials", self.specials or []), ("frame", self.frame or [])):
            if clash := [name for name in names if not name or names.count(name) > 1 or name in SPECIALS]:
                message = f"'{clash[0]}' is empty, named twice, or one of {', '.join(SPECIALS)}."
                raise Invalid(f"{key}.{option}", message)
            if bare := [name for name in names if not re.fullmatch(r"<\S+>|\[\S+\]", name)]:
                raise Invalid(f"{key}.{option}", f"'{bare[0]}' could be a word. Write it in brackets: [{bare[0]}].")
        if self.frame is not None and len(self.frame) != 2:
            raise Invalid(
                f"{key}.frame", f"takes two tokens, one before a text and one after it, not {len(self.frame)}."
            )
        if self.frame is not None and self.max_length is not None and self.max_length < 4:
            raise Invalid(
                f"{key}.max_length", f"{self.max_length} leaves no token of the text inside its frame. Take 4 or more."
            )
        least = getattr(registry.entries("tokeniser")[self.type], "least", 1)
        if least is not None and self.vocabulary < (needed := len(self.special_names) + least):
            raise Invalid(f"{key}.vocabulary", f"{self.vocabulary} is too small for '{self.type}': at least {needed}.")

    def cased(self, text: str) -> str:
        """A text as it is cut: in small letters, where the settings say so."""
        return text.lower() if self.lowercase else text

    @property
    def special_names(self) -> list[str]:
        """The special tokens in the order of their numbers."""
        return list(dict.fromkeys([*SPECIALS, *(self.specials or ()), *(self.frame or ())]))


class TokeniserType(ABC):
    """A type of tokeniser: how a text is cut, and the vocabulary that it learns.

    The only positional parameter of the constructor are the settings that all types have; the keyword parameters of a
    subclass are further keys of the YAML. The vocabulary begins with the special tokens of the settings.
    """

    #: The least number of ordinary tokens in a vocabulary; None: the size of the vocabulary does not depend on the
    #: settings.
    least: ClassVar[int | None] = 1

    #: Whether a token is a whole word, so that word dropout can hide it.
    whole_words: ClassVar[bool] = False

    tokens: list[str]  # the vocabulary, by id
    ids: dict[str, int]  # those of ordinary tokens

    def __init__(self, options: Tokenising) -> None:
        self.options = options

    @abstractmethod
    def learn(self, texts: Texts) -> None:
        """Learn the vocabulary from these texts, and pass it to ``know``."""

    @abstractmethod
    def encode(self, texts: list[str]) -> list[list[int]]:
        """The tokens of each text. ``find`` looks up the pieces of a text."""

    @abstractmethod
    def decode(self, ids: list[int]) -> str:
        """The text of these tokens, with special tokens by their names."""

    def know(self, tokens: Iterable[str]) -> None:
        """Set the vocabulary: the special tokens, then these."""
        specials = self.options.special_names
        self.tokens = list(dict.fromkeys([*specials, *tokens]))
        self.ids = {token: i for i, token in enumerate(self.tokens) if i >= len(specials)}
        self.unknown_id = specials.index(UNK)

    def find(self, pieces: Iterable[str]) -> list[int]:
        """The ids of the pieces of a text. A piece that is not in the vocabulary, or spelled like a special token, is
        <unk>."""
        find, unknown = self.ids.get, self.unknown_id
        return [find(piece, unknown) for piece in pieces]

    def encode_one(self, text: str) -> Tensor:
        """The tokens of a long text, (T,), the same as ``encode`` gives."""
        return torch.tensor(self.encode([text])[0], dtype=torch.int32)

    def unknown(self, text: str) -> list[str]:
        """The pieces of a text that become <unk>."""
        return []

    def spelled(self, text: str) -> str:
        """What ``decode`` would give for the tokens of a text, if every piece were in the vocabulary."""
        return text

    def state(self) -> Any:
        """What was learned, as plain data."""
        return self.tokens

    def restore(self, state: Any) -> None:
        self.know(state)


class Tokeniser:
    """What a type of tokeniser has learned, with special tokens. A text is never encoded as <sos> or <eos>, even where
    it contains their names."""

    def __init__(self, inner: TokeniserType) -> None:
        self.inner, self.options = inner, inner.options
        self.tokens = tuple(inner.tokens)
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self.start, self.stop, self.unknown = (self.ids[name] for name in SPECIALS)
        self.special = {self.ids[name] for name in self.options.special_names if name != UNK}
        first, last = self.options.frame or (None, None)
        self.frame = None if first is None or last is None else (self.ids[first], self.ids[last])

    @classmethod
    def learn(cls, options: Tokenising, texts: Texts) -> Tokeniser:
        """Learn a vocabulary from these texts. The type ``auto`` must have been resolved before (auto.py)."""
        inner = _unlearned(options)
        inner.learn(lambda: map(options.cased, texts()))
        return cls(inner)

    @property
    def whole_words(self) -> bool:
        """Whether a token is a whole word."""
        return self.inner.whole_words

    @property
    def around(self) -> tuple[list[int], list[int]]:
        """The tokens before and after every text: one each, or none."""
        return ([], []) if self.frame is None else ([self.frame[0]], [self.frame[1]])

    def encode(self, texts: list[str]) -> list[list[int]]:
        """The tokens of each text, without <sos>, <eos> or its frame."""
        return self.inner.encode([self.options.cased(text) for text in texts])

    def encode_one(self, text: str) -> Tensor:
        """The tokens of a long text, (T,), without <sos>, <eos> or a frame: the same as ``encode`` gives."""
        return self.inner.encode_one(self.options.cased(text))

    def unknown_in(self, text: str) -> list[str]:
        """The distinct characters or words of a text that become <unk>."""
        return list(dict.fromkeys(self.inner.unknown(self.options.cased(text))))

    def decode(self, ids: list[int]) -> str:
        """The text, up to <eos>, without its frame."""
        if self.stop in ids:
            ids = ids[: ids.index(self.stop)]
        hidden = {self.start, *(self.frame or ())}
        return self.inner.decode([i for i in ids if i not in hidden])

    def spelled(self, text: str) -> str:
        """The text that ``decode`` would give for the tokens of a text, if every word were in the vocabulary."""
        return self.inner.spelled(self.options.cased(text))

    def state(self) -> dict[str, Any]:
        kept = asdict(self.options)
        del kept["bleu"]  # of scores alone
        learned = {name: value for name, value in kept.items() if value or name not in ("frame", "own")}
        return {"options": learned, "coder": self.inner.state()}  # earlier states have no frame and no own keys

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Tokeniser:
        inner = _unlearned(Tokenising(**state["options"]))
        inner.restore(state["coder"])
        return cls(inner)


def _unlearned(options: Tokenising) -> TokeniserType:
    assert options.type != "auto"
    inner: TokeniserType = registry.entries("tokeniser")[options.type](options, **options.own)
    return inner
