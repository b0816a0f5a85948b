"""Words, BPE and WordPiece, by Hugging Face's ``tokenizers``."""

from __future__ import annotations

import os
import unicodedata
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from composer.core.registry import register
from composer.data.tokenisers.tokeniser import UNK, Texts, TokeniserType


class TrainedTokeniser(TokeniserType):
    """A tokeniser of the library, stored as its JSON."""

    @abstractmethod
    def train(self, hub: Any, texts: Texts) -> Any:
        """A tokeniser of the library ``hub`` that is trained on these texts."""

    def learn(self, texts: Texts) -> None:
        self.restore(self.train(_library(), texts).to_str())

    def state(self) -> str:
        return self.inner.to_str()

    def restore(self, state: str) -> None:
        self.inner = _library().Tokenizer.from_str(state)
        self.inner.encode_special_tokens = True  # "<eos>" in a user's text is ordinary text, not the special token
        vocabulary = self.inner.get_vocab()
        self.know(sorted(vocabulary, key=vocabulary.__getitem__))
        self.reserved = {vocabulary[name] for name in self.options.special_names} - {self.unknown_id}

    def trained(self, inner: Any, trainer: Any, texts: Texts, specials: list[str], **more: Any) -> Any:
        """``inner``, trained with the settings and with these special tokens."""
        least = self.options.min_count or 0
        knobs = {"vocab_size": self.options.vocabulary, "min_frequency": least, "special_tokens": specials, **more}
        inner.train_from_iterator(_encodable(texts()), trainer(show_progress=False, **knobs))
        return inner

    def encode(self, texts: list[str]) -> list[list[int]]:
        found = self.inner.encode_batch_fast(list(_encodable(texts)), add_special_tokens=False)
        return [self._ordinary(encoding.ids) for encoding in found]

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
        return " ".join(word for word, _ in self.inner.pre_tokenizer.pre_tokenize_str(next(_encodable([text]))))

    def numbered(self, inner: Any) -> dict[str, int]:
        """A vocabulary of the special tokens, then the others in the order in which they were learned."""
        learned = inner.get_vocab()
        self.know(sorted(learned, key=learned.__getitem__))
        return {token: i for i, token in enumerate(self.tokens[: self.options.vocabulary])}


@register("tokeniser", "words")
class Words(TrainedTokeniser):
    """The most frequent words."""

    whole_words = True

    def train(self, hub: Any, texts: Texts) -> Any:
        inner = hub.Tokenizer(hub.models.WordLevel(unk_token=UNK))
        cut = "Whitespace" if self.options.punctuation else "WhitespaceSplit"
        inner.pre_tokenizer = getattr(hub.pre_tokenizers, cut)()
        words = self.numbered(self.trained(inner, hub.trainers.WordLevelTrainer, texts, []))
        inner.model = hub.models.WordLevel(words, unk_token=UNK)
        return inner


@register("tokeniser", "bpe")
class BPE(TrainedTokeniser):
    """Byte-level BPE, as in GPT-2, which can encode every text."""

    least = 256

    def train(self, hub: Any, texts: Texts) -> Any:
        inner = hub.Tokenizer(hub.models.BPE())
        inner.pre_tokenizer = hub.pre_tokenizers.ByteLevel(add_prefix_space=False)
        inner.decoder = hub.decoders.ByteLevel()
        alphabet = hub.pre_tokenizers.ByteLevel.alphabet()
        specials = self.options.special_names
        return self.trained(inner, hub.trainers.BpeTrainer, texts, specials, initial_alphabet=alphabet)

    def spelled(self, text: str) -> str:
        """The text itself: BPE keeps the spaces between words."""
        return next(_encodable([text]))


@register("tokeniser", "wordpiece")
class WordPiece(TrainedTokeniser):
    """WordPiece, as in BERT.

    The trainer numbers the letters inside words in an order that changes between runs, and breaks ties by these
    numbers. Letters that are passed to it as special tokens have a fixed order, so the result is reproducible.
    """

    def train(self, hub: Any, texts: Texts) -> Any:
        specials = self.options.special_names
        inner = hub.Tokenizer(hub.models.WordPiece(unk_token=UNK))
        inner.pre_tokenizer = hub.pre_tokenizers.BertPreTokenizer()
        limit = max(1, (self.options.vocabulary - len(specials)) // 2)
        inside = Counter(letter for text in _encodable(texts()) for word in text.split() for letter in word[1:])
        letters = sorted((c for c in inside if _joins(c)), key=lambda letter: (-inside[letter], letter))[:limit]
        inside_words = [f"##{letter}" for letter in sorted(letters)]
        first = max(1, limit - len(specials))
        self.trained(inner, hub.trainers.WordPieceTrainer, texts, [*specials, *inside_words], limit_alphabet=first)
        fresh = hub.Tokenizer(hub.models.WordPiece(self.numbered(inner), unk_token=UNK))
        fresh.pre_tokenizer = hub.pre_tokenizers.BertPreTokenizer()
        fresh.decoder = hub.decoders.WordPiece(cleanup=False)
        return fresh


def _encodable(texts: Iterable[str]) -> Iterator[str]:
    """The texts with lone surrogates replaced. JSON can contain them, but the library needs valid UTF-8."""
    return (text.encode("utf-8", "replace").decode("utf-8") for text in texts)


def _joins(letter: str) -> bool:
    """Whether a character can occur inside a word: the pre-tokeniser splits punctuation off."""
    return not unicodedata.category(letter).startswith("P") and not (letter.isascii() and not letter.isalnum())


def _library() -> Any:
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # its threads do not survive a fork, and it warns of that
    import tokenizers

    return tokenizers
