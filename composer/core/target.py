"""What a head predicts in its graph: all that the choice of its metrics and of its predictions' form depends on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from torch import Tensor

from composer.core.signals import Field, Signal


@dataclass(frozen=True)
class Target:
    """The field that a head predicts, and how the head comes to it. ``Graph.target`` makes it.

    name, field: of what is predicted
    given: the fields that the graph reads and does not generate
    aligned: the head predicts every step where it stands; one like CTC finds the places itself
    binary: the entries of the target are there or not, rather than more or less
    generates: the head writes its target step by step, from the steps that it has written
    decodes: what the head generates can be right or wrong, so that the most likely target is searched for: something is
        given, and nothing else is generated
    """

    name: str
    field: Field
    given: Mapping[str, Field]
    aligned: bool = True
    binary: bool = False
    generates: bool = False
    decodes: bool = False

    @property
    def compares_texts(self) -> bool:
        """Whether whole sequences of tokens are compared rather than single steps."""
        return self.field.kind == "ids" and (self.decodes or not self.aligned)


@dataclass(frozen=True)
class Asked:
    """What ``predict`` wants to know of a head's output.

    target: what the head predicts
    show: a text a row, for signals like the target
    unscaled: numbers (..., D) of the target in the units of the data
    weight: (B, T), above 0 at the steps that are to be predicted, where these are not all
    along: the given tokens at whose steps the target stands, where both have one vocabulary
    top: how many of the likeliest labels to name
    samples, confidence, seed: how many values to draw for an interval, the share of them inside it, and their seed
    """

    target: Target
    show: Callable[[Signal], list[str]]
    unscaled: Callable[[Tensor], Tensor]
    weight: Tensor | None = None
    along: Signal | None = None
    top: int = 5
    samples: int = 200
    confidence: float = 0.95
    seed: int = 0

    def names(self, ids: list[int]) -> list[str]:
        """The tokens or classes of these numbers."""
        tokens = self.target.field.tokens
        return [tokens[i] if tokens is not None else str(i) for i in ids]
