"""What a head predicts in its graph: the facts from which its metrics and the form of its predictions are chosen.

The log-probabilities of its tokens or classes are given by whichever method the head has for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from composer.core.bounds import CONFIDENCE, Bounds
from composer.core.capabilities import offers
from composer.core.signals import Contents, Field, Signal


@dataclass(frozen=True)
class Target:
    """The field that a head predicts, and how the head predicts it. ``Graph.target`` makes it.

    name, field: the name of the predicted field and its description
    given: the fields that the graph reads and does not generate
    aligned: the prediction at step t is compared with the target's step t; False for CTC, which finds its own alignment
    binary: every entry of the target is 0 or 1 (multi-label), rather than a real value
    generates: the head is autoregressive: it predicts each step of its target from the earlier steps
    decodes: the most likely target is searched for (greedy, beam search) and compared with the true target. This needs
        a given field, and no other generated field
    likelihoods: the head gives the log-probabilities of its tokens or classes
    """

    name: str
    field: Field
    given: Mapping[str, Field]
    aligned: bool = True
    binary: bool = False
    generates: bool = False
    decodes: bool = False
    likelihoods: bool = False

    @property
    def compared(self) -> bool:
        """Whether there is a true target to compare predictions with. A language model, which goes on from nothing, has
        none: any sequence may be right."""
        return self.decodes or not self.generates

    @property
    def contents(self) -> Contents:
        """What the field's codec knows of its values."""
        return self.field.contents

    @property
    def compares_texts(self) -> bool:
        """Whether metrics compare whole token sequences (edit distance, BLEU, ...) rather than single steps."""
        return self.field.kind == "ids" and (self.decodes or not self.aligned)


@dataclass(frozen=True)
class ReportRequest:
    """The options that the command ``predict`` passes to a head's ``report``.

    target: what the head predicts
    show: turns a signal like the target into one text per row
    unscaled: turns standardised numbers (..., D) of the target into the units of the data
    weight: (B, T), above 0 at the steps to predict; None where every step is predicted
    along: the given tokens, where the target has one token per given token and both share a vocabulary
    top: how many of the likeliest labels to list
    bounds: the calibrated bounds of the head; None for a model that was never validated
    confidence: the share of the values that lie within the bounds of their prediction
    samples, seed: without calibrated bounds, they hold this share of ``samples`` values, drawn with ``seed``
    """

    target: Target
    show: Callable[[Signal], list[str]]
    unscaled: Callable[[Tensor], Tensor]
    weight: Tensor | None = None
    along: Signal | None = None
    top: int = 5
    bounds: Bounds | None = None
    samples: int = 200
    confidence: float = CONFIDENCE
    seed: int = 0

    def names(self, ids: list[int]) -> list[str]:
        """The names of the tokens or classes with these ids."""
        tokens = self.target.contents.tokens
        return [tokens[i] if tokens is not None else str(i) for i in ids]


def has_likelihoods(head: Any) -> bool:
    """Whether a head gives the log-probabilities of its tokens or classes."""
    return offers(head, "log_marginals") or offers(head, "log_probabilities")


def log_likelihoods(head: Any, output: Signal) -> Tensor | None:
    """(B, T, V) or (B, V): the log-probability of every token or class; None where the head gives none."""
    if offers(head, "log_marginals"):
        return head.log_marginals(output)
    return head.log_probabilities(output.values) if offers(head, "log_probabilities") else None
