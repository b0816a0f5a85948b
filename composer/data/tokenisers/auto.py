"""``tokeniser.type: auto``: the type of tokeniser for a field, chosen by statistics of its training texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Literal

from composer.core.registry import register
from composer.data.tokenisers.tokeniser import SPECIALS, Tokenising

#: Texts with fewer words than this on average are names, words to spell, codes, or in a script without spaces.
FEW_WORDS = 2.5

#: A word vocabulary is closed where at most this share of the words of a new text is expected to be unknown.
CLOSED = 0.005

#: The minimal count of a token in a BPE vocabulary that is chosen here: rarer tokens are hardly learned.
MIN_COUNT = 20


@dataclass(frozen=True)
class Look:
    """Statistics of texts.

    length: the mean number of words in a text
    new: the expected share of unknown words in a new text, estimated by leaving out each text in turn: the words that
        occur in no other text (Good, 1953), and the words that are too rare for the vocabulary
    """

    length: float
    new: float


def look(texts: Iterable[str], limit: int, split: Callable[[str], list[str]] = str.split) -> Look:
    """The statistics of these texts, for a vocabulary of at most ``limit`` words."""
    counts: Counter[str] = Counter()
    containing: Counter[str] = Counter()  # the number of texts that a word occurs in
    rows = 0
    for text in texts:
        words = split(text)
        counts.update(words)
        containing.update(set(words))
        rows += 1
    rare = sorted(counts, key=lambda word: (-counts[word], word))[max(limit, 0) :]
    new = {word for word, number in containing.items() if number == 1} | set(rare)
    total = sum(counts.values())
    return Look(total / max(rows, 1), sum(counts[word] for word in new) / max(total, 1))


@register("tokeniser", "auto")
def choose(
    options: Tokenising, texts: Callable[[], Iterable[str]], sentences: Literal["words", "bpe"]
) -> tuple[Tokenising, str]:
    """The options with a concrete type instead of ``auto``, and the reason for that type in a few words.

    sentences: the type for sentences, whose vocabulary of words is open
    """
    limit = options.vocabulary - len(SPECIALS) - len(options.specials or ())
    seen = look(map(options.cased, texts()), limit)
    case = "lowercased" if options.lowercase else "case kept"
    if seen.length < FEW_WORDS:
        return replace(options, type="characters"), f"texts of {seen.length:.1f} words; {case}"
    if seen.new <= CLOSED:
        reason = f"split at white space; {_reason(seen, 'text')}; {case}"
        return replace(options, type="words", punctuation=False), reason
    if sentences == "words":
        if options.punctuation:
            seen = look(map(options.cased, texts()), limit, re.compile(r"\w+|[^\w\s]+").findall)
        return replace(options, type="words"), f"{_reason(seen, 'sentence')}; {case}"
    chosen = replace(options, type="bpe", min_count=options.min_count or MIN_COUNT)
    return chosen, f"{_reason(seen, 'sentence')}, were they tokens; {case}"


def _reason(seen: Look, what: str) -> str:
    return f"{what}s of {seen.length:.1f} words, of which a new {what} has {100 * seen.new:.1f} % unknown"
