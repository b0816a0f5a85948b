"""Metrics of whole sequences, which compare the text of the prediction with the references, the texts that are right.

Most data has one reference a row. BLEU and chrF are those of sacreBLEU (Post, 2018), with one or several references, as
shares of 1: published figures are a hundred times as large. BLEU and the edit distance are computed by libraries,
sacreBLEU and rapidfuzz, which are imported where they are used. chrF is our own: sacreBLEU gives the statistics of a
row, which are summed over batches and processes and resampled for intervals, only by private methods. A test compares.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from composer.core.registry import register
from composer.core.version import __version__
from composer.metrics.metric import ERROR, SHARE, HeadBatch, Metric

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

#: The longest n-grams: of words in BLEU, of characters in chrF. Then chrF's beta, the weight of recall.
WORDS = 4
CHARACTERS = 6
BETA = 2.0

#: Where a signature of sacreBLEU has its version. The values are those of sacreBLEU 2.6.
VERSION = f"version:sequence-composer-{__version__}"


class OfTexts(Metric):
    """A metric of texts: a subclass compares the references of a row with the text of its prediction."""

    whole = True

    @abstractmethod
    def compare(self, wanted: Sequence[str], found: str) -> Sequence[float]:
        """The statistics of one row."""

    def rows(self, seen: HeadBatch) -> Tensor:
        pairs = zip(seen.references, seen.found_texts, strict=True)
        found = torch.tensor([self.compare(*pair) for pair in pairs], dtype=torch.float64).reshape(-1, self.width)
        return found * seen.counted_rows[:, None]


@register("metric", "cer")
class CharacterErrorRate(OfTexts):
    direction = "min"
    possible = ERROR
    meaning = "the edit distance in characters to the closest reference, over the characters of that reference"

    def compare(self, wanted: Sequence[str], found: str) -> Sequence[float]:
        return _closest((edit_distance(text, found), len(text)) for text in wanted)


@register("metric", "wer")
class WordErrorRate(OfTexts):
    direction = "min"
    possible = ERROR
    meaning = "the edit distance in words, or symbols, to the closest reference, over the words of that reference"

    def compare(self, wanted: Sequence[str], found: str) -> Sequence[float]:
        words = found.split()
        return _closest((edit_distance(text.split(), words), len(text.split())) for text in wanted)


def _closest(errors: Iterable[tuple[int, int]]) -> tuple[int, int]:
    """The distance to a reference, and its length, of the reference with the lowest error rate."""
    return min(errors, key=lambda error: error[0] / max(error[1], 1))


@register("metric", "bleu")
class Bleu(OfTexts):
    """Papineni et al., 2002, as sacreBLEU computes it: smoothed exponentially, over the whole corpus.

    The statistics of a row: the words of the prediction; those of the reference that is closest in length; for n-grams
    of 1 to 4 words, how many of the prediction's any reference has, and how many the prediction has; and whether a
    reference has four words, without which the metric is nan (sacreBLEU: 0).
    """

    direction = "max"
    possible = SHARE
    meaning = "sacreBLEU's BLEU: n-grams of up to 4 words that a reference has among those found, over the whole corpus"
    width = 2 + 2 * WORDS + 1

    @cached_property
    def _bleu(self) -> BLEU:
        from sacrebleu.metrics.bleu import BLEU

        # The effective order concerns the score of a sentence, of which only the statistics are taken.
        return BLEU(tokenize=self.target.contents.bleu, effective_order=True)

    def compare(self, wanted: Sequence[str], found: str) -> Sequence[float]:
        row = self._bleu.sentence_score(found, wanted)
        long = row.ref_len >= WORDS or any(self._bleu.sentence_score(text, wanted).sys_len >= WORDS for text in wanted)
        return row.sys_len, row.ref_len, *row.counts, *row.totals, long

    def value(self, sums: Tensor) -> Tensor:
        scores = [self._score(*row) for row in sums.reshape(-1, self.width).long().tolist()]
        return sums.new_tensor(scores).reshape(sums.shape[:-1])

    def _score(self, found: int, wanted: int, *counts: int) -> float:
        *counted, long = counts
        if not long:
            return math.nan
        both, total = counted[:WORDS], counted[WORDS:]
        return self._bleu.compute_bleu(both, total, found, wanted, smooth_method="exp").score / 100

    def signature(self, references: str) -> str:
        case = "lc" if self.target.contents.lowercase else "mixed"
        return f"nrefs:{references}|case:{case}|eff:no|tok:{self.target.contents.bleu}|smooth:exp|{VERSION}"


@register("metric", "chrf")
class CharacterF(OfTexts):
    """Popović, 2015, as sacreBLEU computes it (chrF2): precision and recall are means over the n-gram sizes that occur.

    The statistics of a row are those of the reference with the highest score.
    """

    direction = "max"
    possible = SHARE
    meaning = "sacreBLEU's chrF2: the F-score, beta 2, of n-grams of up to 6 characters, over the whole corpus"
    width = 3 * CHARACTERS

    def compare(self, wanted: Sequence[str], found: str) -> Sequence[float]:
        known = _sized_grams(found)
        each = [_overlap(_sized_grams(text), known) for text in wanted]
        if len(each) == 1:
            return each[0]
        scores = self.value(torch.tensor(each, dtype=torch.float64)).nan_to_num(0.0)
        return each[int(scores.argmax())]

    def value(self, sums: Tensor) -> Tensor:
        both, wanted, found = sums.unflatten(-1, (CHARACTERS, 3)).unbind(-1)
        occur = (wanted > 0) & (found > 0)
        sizes = occur.sum(-1).clamp(min=1)
        precision = torch.where(occur, both / found, 0.0).sum(-1) / sizes
        recall = torch.where(occur, both / wanted, 0.0).sum(-1) / sizes
        score = (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)
        return torch.where(wanted[..., 0] > 0, torch.where(precision + recall > 0, score, 0.0), torch.nan)

    def signature(self, references: str) -> str:
        case = "lc" if self.target.contents.lowercase else "mixed"
        return f"nrefs:{references}|case:{case}|eff:yes|nc:{CHARACTERS}|nw:0|space:no|{VERSION}"


def edit_distance(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """The Levenshtein distance: the fewest insertions, deletions and replacements that turn ``a`` into ``b``."""
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance(a, b)


def _sized_grams(text: str) -> list[Counter]:
    """The n-grams of characters of every size, without white space."""
    text = "".join(text.split())
    return [Counter(text[i : i + size] for i in range(len(text) - size + 1)) for size in range(1, CHARACTERS + 1)]


def _common(some: Counter, others: Counter) -> int:
    """The number of n-grams that are in both, each as often as in the one that has it less often."""
    get = others.get  # a loop takes half the time of Counter's own ``&``
    return sum(min(count, get(gram, 0)) for gram, count in some.items() if gram in others)


def _overlap(wanted: list[Counter], found: list[Counter]) -> list[float]:
    """For n-grams of every size: the number that both texts have, that the target has, and that the prediction has.

    The n-grams of a prediction do not count at sizes of which the target has none.
    """
    numbers: list[float] = []
    for known, grams in zip(wanted, found, strict=True):
        numbers += [_common(grams, known), known.total(), grams.total() if known else 0]
    return numbers
