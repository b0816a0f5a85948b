"""What the metrics' names mean, which way each gets better, and which one to look at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from composer.core.problems import UserError, did_you_mean, listed

Direction = Literal["min", "max"]


@dataclass(frozen=True)
class Meaning:
    direction: Direction
    text: str


#: Every metric's name. Shares are from 0 to 1, BLEU and chrF too.
MEANINGS: dict[str, Meaning] = {
    "loss": Meaning(
        "min", "nats a step of the target, or a row where that has no steps; with several heads, the sum of theirs"
    ),
    "perplexity": Meaning("min", "e to the loss: between how many tokens the model wavers at a step"),
    "bits_per_character": Meaning(
        "min", "bits for all of a text, <eos> included, over its characters: the same scale for every tokeniser"
    ),
    "token_accuracy": Meaning("max", "the share of tokens found, the true ones before each given"),
    "accuracy": Meaning("max", "the share of classes, tags or entries found"),
    "f1": Meaning(
        "max",
        "the harmonic mean of precision and recall: the mean over the classes (macro) for labels and tags, classes "
        "neither wanted nor found left out; over all entries together (micro) for labels that are there or not",
    ),
    "exact": Meaning("max", "the share of examples that are right as a whole"),
    "bleu": Meaning("max", "n-grams of up to 4 words that were wanted among those found, over the whole corpus"),
    "chrf": Meaning("max", "the F-score, beta 2, of n-grams of up to 6 characters, over the whole corpus"),
    "cer": Meaning("min", "characters to change, over the characters wanted"),
    "wer": Meaning("min", "words, or symbols, to change, over those wanted"),
    "mse": Meaning("min", "the mean squared error of an entry, in the units that the model sees"),
    "mae": Meaning("min", "the mean absolute error of an entry, in the units that the model sees"),
    "mse_over_naive": Meaning(
        "min",
        "the squared error beside that of a forecast without a model, the last step given or else the mean of the "
        "target; below 1 is better than none",
    ),
    "mae_over_naive": Meaning("min", "the absolute error beside that of the last step given, repeated"),
}

#: The metric to stop, keep and prune by: every graph has it, it costs no decoding, and it moves before the others do.
JUDGE = "loss"

#: What a person would quote of a run, the first that is there.
QUOTED = ("accuracy", "exact", "mse_over_naive", "bits_per_character", "perplexity")


def _meaning(name: str) -> Meaning:
    known = name.rpartition("/")[2]
    if known not in MEANINGS:
        hint = did_you_mean(known, MEANINGS)
        raise UserError(f"There is no metric '{name}'.{hint}  (metrics: {listed(MEANINGS, len(MEANINGS))})")
    return MEANINGS[known]


def direction(name: str) -> Direction:
    """Whether less or more of a metric is better."""
    return _meaning(name).direction


def describe(name: str) -> str:
    """What a metric is, in a sentence."""
    return _meaning(name).text


def headline(names: Iterable[str]) -> str:
    """The one of these metrics that says most about a run."""
    found = list(names)
    for quoted in QUOTED:
        for name in found:
            if name.rpartition("/")[2] == quoted:
                return name
    return JUDGE
