"""Metrics of whole sequences, which compare the text of the prediction with the text of the target."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from composer.core.registry import register
from composer.metrics.metric import HeadBatch, Metric, divided

#: The longest n-grams: of words in BLEU, of characters in chrF. Then chrF's beta, the weight of recall.
WORDS = 4
CHARACTERS = 6
BETA = 2.0


class OfTexts(Metric):
    """A metric of texts: a subclass compares the text of a target with the text of its prediction."""

    whole = True

    @abstractmethod
    def compare(self, wanted: str, found: str) -> Sequence[float]:
        """The statistics of one row."""

    def rows(self, seen: HeadBatch) -> Tensor:
        pairs = zip(seen.wanted_texts, seen.found_texts, strict=True)
        found = torch.tensor([self.compare(*pair) for pair in pairs], dtype=torch.float64).reshape(-1, self.width)
        return found * seen.counted_rows[:, None]


@register("metric", "cer")
class CharacterErrorRate(OfTexts):
    direction = "min"
    meaning = "the edit distance in characters, over the characters of the target"

    def compare(self, wanted: str, found: str) -> Sequence[float]:
        return edit_distance(wanted, found), len(wanted)


@register("metric", "wer")
class WordErrorRate(OfTexts):
    direction = "min"
    meaning = "the edit distance in words, or symbols, over the words of the target"

    def compare(self, wanted: str, found: str) -> Sequence[float]:
        words = wanted.split()
        return edit_distance(words, found.split()), len(words)


@register("metric", "bleu")
class Bleu(OfTexts):
    """Papineni et al., 2002, without smoothing; nan where no target has four words."""

    direction = "max"
    meaning = "n-grams of up to 4 words that were wanted among those found, over the whole corpus"
    width = 3 * WORDS

    def compare(self, wanted: str, found: str) -> Sequence[float]:
        return _overlap(wanted.split(), found.split(), WORDS)

    def value(self, sums: Tensor) -> Tensor:
        both, wanted, found = sums.unflatten(-1, (WORDS, 3)).unbind(-1)
        precision = (both / found.clamp(min=1)).log().mean(-1).exp()  # 0 where the n-grams of one size have no match
        brevity = (1 - wanted[..., 0] / found[..., 0].clamp(min=1)).clamp(max=0).exp()  # the brevity penalty
        return torch.where(wanted[..., -1] > 0, precision * brevity, torch.nan)


@register("metric", "chrf")
class CharacterF(OfTexts):
    """Popović, 2015. The mean is over the n-gram sizes that occur, so that a correct short text scores 1, too."""

    direction = "max"
    meaning = "the F-score, beta 2, of n-grams of up to 6 characters, over the whole corpus"
    width = 3 * CHARACTERS

    def compare(self, wanted: str, found: str) -> Sequence[float]:
        return _overlap(_without_spaces(wanted), _without_spaces(found), CHARACTERS)

    def value(self, sums: Tensor) -> Tensor:
        both, wanted, found = sums.unflatten(-1, (CHARACTERS, 3)).unbind(-1)
        return divided((1 + BETA**2) * both, BETA**2 * wanted + found).nanmean(-1)


def _without_spaces(text: str) -> str:
    return text.strip().replace(" ", "")


def edit_distance(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """The Levenshtein distance: the fewest insertions, deletions and replacements that turn ``a`` into ``b``.

    A column of the dynamic programming table is stored as two integers with one bit for each symbol of ``a``: the rows
    in which the distance rises by one, and those in which it falls by one (Myers, 1999; Hyyrö, 2003). A step then takes
    a dozen integer operations, however long ``a`` is.
    """
    if not a:
        return len(b)
    places: dict[Hashable, int] = {}
    for i, symbol in enumerate(a):
        places[symbol] = places.get(symbol, 0) | 1 << i
    every, last = (1 << len(a)) - 1, 1 << len(a) - 1
    rises, falls, distance = every, 0, len(a)
    for symbol in b:
        same = places.get(symbol, 0)
        level = (((same & rises) + rises) ^ rises) | same
        right_rises, right_falls = falls | ~(level | rises) & every, rises & level
        distance += bool(right_rises & last) - bool(right_falls & last)
        right_rises, right_falls = right_rises << 1 | 1, right_falls << 1
        same |= falls
        rises, falls = (right_falls | ~(same | right_rises)) & every, right_rises & same
    return distance


def _grams(symbols: Sequence[Hashable], size: int) -> Counter:
    return Counter(tuple(symbols[i : i + size]) for i in range(len(symbols) - size + 1))


def _overlap(wanted: Sequence[Hashable], found: Sequence[Hashable], most: int) -> list[float]:
    """For n-grams of every size: the number that both texts have, that the target has, and that the prediction has."""
    numbers: list[float] = []
    for size in range(1, most + 1):
        both = (_grams(wanted, size) & _grams(found, size)).total()
        numbers += [both, max(0, len(wanted) - size + 1), max(0, len(found) - size + 1)]
    return numbers
