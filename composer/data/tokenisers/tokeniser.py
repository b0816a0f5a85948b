"""Tokenisers: texts to token ids and back.

Words, BPE and WordPiece use Hugging Face's ``tokenizers``. Characters and bytes need no library: looking up each
character here is thirty times faster than splitting the characters with a regular expression.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from typing import Annotated, Any, Literal, Protocol

import torch
from torch import Tensor

from composer.core.block import Positive, Range
from composer.core.problems import Invalid

SOS, EOS, UNK = "<sos>", "<eos>", "<unk>"
SPECIALS = (SOS, EOS, UNK)


@dataclass(frozen=True)
class Tokenising:
    """The settings ``tokeniser`` of a source of texts; conf/data/pairs.yaml describes each."""

    type: Literal["auto", "characters", "bytes", "words", "bpe", "wordpiece"] = "characters"
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

    def check(self, key: str) -> None:
        for option, names in (("specials", self.specials or []), ("frame", self.frame or [])):
            if clash := [name for name in names if not name or names.count(name) > 1 or name in SPECIALS]:
                said = f"'{clash[0]}' is empty, named twice, or one of {', '.join(SPECIALS)}."
                raise Invalid(f"{key}.{option}", said)
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
        least = len(self.special_names) + (256 if self.type == "bpe" else 1)
        if self.type != "bytes" and self.vocabulary < least:
            raise Invalid(f"{key}.vocabulary", f"{self.vocabulary} is too small for '{self.type}': at least {least}.")

    @property
    def special_names(self) -> list[str]:
        """The special tokens in the order of their numbers."""
        return list(dict.fromkeys([*SPECIALS, *(self.specials or ()), *(self.frame or ())]))


#: Returns the texts to learn from; every call starts again with the first text.
Reread = Callable[[], Iterable[str]]


def _lowered(texts: Reread) -> Iterator[str]:
    return (text.lower() for text in texts())


class Coder(Protocol):
    """Text to ordinary tokens and back. ``Tokeniser`` adds the special tokens."""

    tokens: list[str]

    def encode(self, texts: list[str]) -> list[list[int]]: ...
    def encode_one(self, text: str) -> Tensor: ...
    def unknown(self, text: str) -> list[str]: ...
    def decode(self, ids: list[int]) -> str: ...
    def spelled(self, text: str) -> str: ...
    def state(self) -> Any: ...


class Tokeniser:
    """A coder with special tokens. A text is never encoded as <sos> or <eos>, even where it contains their names."""

    def __init__(self, options: Tokenising, coder: Coder) -> None:
        self.options = options
        self.coder = coder
        self.tokens = tuple(coder.tokens)
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self.start, self.stop, self.unknown = (self.ids[name] for name in SPECIALS)
        self.special = {self.ids[name] for name in options.special_names if name != UNK}
        first, last = options.frame or (None, None)
        self.frame = None if first is None or last is None else (self.ids[first], self.ids[last])

    @classmethod
    def learn(cls, options: Tokenising, texts: Reread) -> Tokeniser:
        """Learn a vocabulary from these texts. The type ``auto`` must have been resolved before (auto.py)."""
        assert options.type != "auto"
        specials = options.special_names
        read = partial(_lowered, texts) if options.lowercase else texts
        coder: Coder
        match options.type:
            case "characters":
                coder = Characters.learn(read(), specials, options.vocabulary, options.min_count or 1)
            case "bytes":
                coder = Bytes(specials)
            case _:
                coder = TrainedTokeniser.learn(options, read, specials)
        return cls(options, coder)

    @property
    def around(self) -> tuple[list[int], list[int]]:
        """The tokens before and after every text: one each, or none."""
        return ([], []) if self.frame is None else ([self.frame[0]], [self.frame[1]])

    def encode(self, texts: list[str]) -> list[list[int]]:
        """The tokens of each text, without <sos>, <eos> or its frame."""
        if self.options.lowercase:
            texts = [text.lower() for text in texts]
        return self.coder.encode(texts)

    def encode_one(self, text: str) -> Tensor:
        """The tokens of a long text, (T,), without <sos>, <eos> or a frame: the same as ``encode`` gives."""
        return self.coder.encode_one(text.lower() if self.options.lowercase else text)

    def unknown_in(self, text: str) -> list[str]:
        """The distinct characters or words of a text that become <unk>."""
        return list(dict.fromkeys(self.coder.unknown(text.lower() if self.options.lowercase else text)))

    def decode(self, ids: list[int]) -> str:
        """The text, up to <eos>, without its frame."""
        if self.stop in ids:
            ids = ids[: ids.index(self.stop)]
        hidden = {self.start, *(self.frame or ())}
        return self.coder.decode([i for i in ids if i not in hidden])

    def spelled(self, text: str) -> str:
        """The text that ``decode`` would give for the tokens of a text, if every word were in the vocabulary."""
        return self.coder.spelled(text.lower() if self.options.lowercase else text)

    def state(self) -> dict[str, Any]:
        kept = asdict(self.options)
        del kept["bleu"]  # of scores alone
        learned = {name: value for name, value in kept.items() if name != "frame" or value}  # earlier states have none
        return {"options": learned, "coder": self.coder.state()}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Tokeniser:
        options = Tokenising(**state["options"])
        specials = options.special_names
        coder: Coder
        match options.type:
            case "characters":
                coder = Characters(list(state["coder"]))
            case "bytes":
                coder = Bytes(specials)
            case _:
                coder = TrainedTokeniser(state["coder"], specials)
        return cls(options, coder)


def code_points(text: str) -> Tensor:
    """The Unicode code points of a text that is not empty, (T,)."""
    if text.isascii():
        return torch.frombuffer(bytearray(text, "ascii"), dtype=torch.uint8)
    return torch.frombuffer(bytearray(text, "utf-32-le", "surrogatepass"), dtype=torch.int32)


class Characters:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.ids = {token: i for i, token in enumerate(tokens)}

    @classmethod
    def learn(cls, texts: Iterable[str], specials: list[str], limit: int, least: int = 1) -> Characters:
        seen = torch.zeros(128, dtype=torch.long)  # by code point
        for text in texts:
            found = torch.bincount(code_points(text)) if text else seen[:0]
            if len(found) > len(seen):
                seen = torch.cat([seen, seen.new_zeros(len(found) - len(seen))])
            seen[: len(found)] += found
        counts = {chr(point): int(seen[point]) for point in seen.nonzero()[:, 0].tolist()}
        common = (symbol for symbol, count in counts.items() if count >= least)
        commonest = sorted(common, key=lambda symbol: (-counts[symbol], symbol))[: limit - len(specials)]
        return cls([*specials, *sorted(set(commonest) - set(specials))])

    def encode(self, texts: list[str]) -> list[list[int]]:
        find, unknown = self.ids.get, self.ids[UNK]
        return [[find(symbol, unknown) for symbol in text] for text in texts]

    @cached_property
    def _table(self) -> Tensor:
        """(points,), the token of every code point up to the first one above all that are known, which is <unk>."""
        known = {ord(token): number for token, number in self.ids.items() if len(token) == 1}
        table = torch.full((max(known, default=0) + 2,), self.ids[UNK], dtype=torch.int32)
        table[list(known)] = torch.tensor(list(known.values()), dtype=torch.int32)
        return table

    def encode_one(self, text: str) -> Tensor:
        if not text:
            return self._table[:0]
        return self._table.index_select(0, code_points(text).int().clamp_(max=len(self._table) - 1))

    def unknown(self, text: str) -> list[str]:
        return [symbol for symbol in text if symbol not in self.ids]

    def decode(self, ids: list[int]) -> str:
        return "".join(self.tokens[i] for i in ids)

    def spelled(self, text: str) -> str:
        return text

    def state(self) -> list[str]:
        return self.tokens


class Bytes:
    """The bytes of UTF-8. Every text can be encoded, so nothing is unknown."""

    def __init__(self, specials: list[str]) -> None:
        self.first = len(specials)
        self.tokens = [*specials, *(f"0x{byte:02x}" for byte in range(256))]

    def encode(self, texts: list[str]) -> list[list[int]]:
        first = self.first
        return [[first + byte for byte in text.encode("utf-8", "surrogatepass")] for text in texts]

    def encode_one(self, text: str) -> Tensor:
        raw = bytearray(text, "utf-8", "surrogatepass")
        return torch.frombuffer(raw, dtype=torch.uint8).int() + self.first if raw else torch.zeros(0, dtype=torch.int32)

    def unknown(self, text: str) -> list[str]:
        return []

    def decode(self, ids: list[int]) -> str:
        """The text of the bytes, with special tokens by their names and U+FFFD for bytes that are not UTF-8."""
        pieces: list[bytes] = [bytes([i - self.first]) if i >= self.first else self.tokens[i].encode() for i in ids]
        return b"".join(pieces).decode("utf-8", "replace")

    def spelled(self, text: str) -> str:
        return text

    def state(self) -> None:
        return None


class TrainedTokeniser:
    """A tokeniser of Hugging Face's ``tokenizers``, stored as its JSON."""

    def __init__(self, text: str, specials: list[str]) -> None:
        self.text = text
        self.inner = _library().Tokenizer.from_str(text)
        self.inner.encode_special_tokens = True  # "<eos>" in a user's text is ordinary text, not the special token
        vocabulary = self.inner.get_vocab()
        self.tokens = sorted(vocabulary, key=vocabulary.__getitem__)
        self.reserved = {vocabulary[name] for name in specials} - {vocabulary[UNK]}
        self.unknown_id = vocabulary[UNK]
        self.whole = isinstance(self.inner.model, _library().models.BPE)  # whether every text is decoded as it was

    @classmethod
    def learn(cls, options: Tokenising, texts: Reread, specials: list[str]) -> TrainedTokeniser:
        hub = _library()
        learned = {"words": _words, "bpe": _bpe, "wordpiece": _word_pieces}[options.type](hub, options, texts, specials)
        return cls(learned.to_str(), specials)

    def encode(self, texts: list[str]) -> list[list[int]]:
        found = self.inner.encode_batch_fast(list(_encodable(texts)), add_special_tokens=False)
        return [self._ordinary(encoding.ids) for encoding in found]

    def encode_one(self, text: str) -> Tensor:
        return torch.tensor(self.encode([text])[0], dtype=torch.int32)

    def unknown(self, text: str) -> list[str]:
        found = self.inner.encode(next(_encodable([text])), add_special_tokens=False)
        strange = {self.unknown_id, *self.reserved}
        return [text[slice(*span)] for token, span in zip(found.ids, found.offsets, strict=True) if token in strange]

    def _ordinary(self, ids: list[int]) -> list[int]:
        """The ids with <unk> for every word that is spelled like a special token."""
        if self.reserved.isdisjoint(ids):
            return ids
        return [self.unknown_id if i in self.reserved else i for i in ids]

    def decode(self, ids: list[int]) -> str:
        return self.inner.decode(ids, skip_special_tokens=False)

    def spelled(self, text: str) -> str:
        """BPE keeps the spaces between words; other tokens are joined by one space each."""
        text = next(_encodable([text]))
        if self.whole:
            return text
        return " ".join(word for word, _ in self.inner.pre_tokenizer.pre_tokenize_str(text))

    def state(self) -> str:
        return json.dumps(json.loads(self.text), ensure_ascii=False, separators=(",", ":"))


def _encodable(texts: Iterable[str]) -> Iterator[str]:
    """The texts with lone surrogates replaced. JSON can contain them, but the library needs valid UTF-8."""
    return (text.encode("utf-8", "replace").decode("utf-8") for text in texts)


def _words(hub: Any, options: Tokenising, texts: Reread, specials: list[str]) -> Any:
    inner = hub.Tokenizer(hub.models.WordLevel(unk_token=UNK))
    inner.pre_tokenizer = getattr(hub.pre_tokenizers, "Whitespace" if options.punctuation else "WhitespaceSplit")()
    trainer = hub.trainers.WordLevelTrainer(
        vocab_size=options.vocabulary, min_frequency=options.min_count or 0, special_tokens=[], show_progress=False
    )
    inner.train_from_iterator(_encodable(texts()), trainer)
    inner.model = hub.models.WordLevel(_numbered(inner, specials, options.vocabulary), unk_token=UNK)
    return inner


def _bpe(hub: Any, options: Tokenising, texts: Reread, specials: list[str]) -> Any:
    """Byte-level BPE, as in GPT-2, which can encode every text."""
    inner = hub.Tokenizer(hub.models.BPE())
    inner.pre_tokenizer = hub.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = hub.decoders.ByteLevel()
    trainer = hub.trainers.BpeTrainer(
        vocab_size=options.vocabulary,
        min_frequency=options.min_count or 0,
        special_tokens=specials,
        initial_alphabet=hub.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(_encodable(texts()), trainer)
    return inner


def _word_pieces(hub: Any, options: Tokenising, texts: Reread, specials: list[str]) -> Any:
    """WordPiece, as in BERT.

    The trainer numbers the letters inside words in an order that changes between runs, and breaks ties by these
    numbers. Letters that are passed to it as special tokens have a fixed order, so the result is reproducible.
    """
    inner = hub.Tokenizer(hub.models.WordPiece(unk_token=UNK))
    inner.pre_tokenizer = hub.pre_tokenizers.BertPreTokenizer()
    limit = max(1, (options.vocabulary - len(specials)) // 2)
    inside: Counter[str] = Counter()
    for text in _encodable(texts()):
        for word in text.split():
            inside.update(word[1:])
    letters = sorted((c for c in inside if _joins(c)), key=lambda letter: (-inside[letter], letter))[:limit]
    trainer = hub.trainers.WordPieceTrainer(
        vocab_size=options.vocabulary,
        min_frequency=options.min_count or 0,
        special_tokens=[*specials, *(f"##{letter}" for letter in sorted(letters))],
        limit_alphabet=max(1, limit - len(specials)),
        show_progress=False,
    )
    inner.train_from_iterator(_encodable(texts()), trainer)
    fresh = hub.Tokenizer(hub.models.WordPiece(_numbered(inner, specials, options.vocabulary), unk_token=UNK))
    fresh.pre_tokenizer = hub.pre_tokenizers.BertPreTokenizer()
    fresh.decoder = hub.decoders.WordPiece(cleanup=False)
    return fresh


def _joins(letter: str) -> bool:
    """Whether a character can occur inside a word: the pre-tokeniser splits punctuation off."""
    return not unicodedata.category(letter).startswith("P") and not (letter.isascii() and not letter.isalnum())


def _numbered(inner: Any, specials: list[str], limit: int) -> dict[str, int]:
    """A vocabulary of the special tokens, then the others in the order in which they were learned."""
    learned = inner.get_vocab()
    others = sorted((token for token in learned if token not in specials), key=learned.__getitem__)
    return {token: i for i, token in enumerate([*specials, *others][:limit])}


def _library() -> Any:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # its threads do not survive a fork, and it warns of that
    import tokenizers

    return tokenizers
