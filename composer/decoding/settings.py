"""The settings of a generation: search, length, sampling, scores and constraints."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, get_type_hints

from composer.core.binding import FAILED, bind_value
from composer.core.block import Positive, Probability, Range, Scale
from composer.core.problems import Invalid, Report

#: The settings that have an effect in some searches only, with these searches.
ONLY: dict[str, tuple[str, ...]] = {
    "temperature": ("sample",),
    "top_k": ("sample",),
    "top_p": ("sample",),
    "min_p": ("sample",),
    "repetition_penalty": ("greedy", "sample"),
    "beams": ("beam",),
    "best": ("sample", "beam"),
}
GNMT = 0.6  # Wu et al., 2016: between 0.6 and 0.7


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to generate.

    search: greedy decoding (the most likely token at every step), sampling, or beam search
    length: the maximal number of generated tokens, the prompt not counted
    temperature: divides the log-probabilities: below 1 sharpens the distribution, above 1 flattens it
    top_k, top_p, min_p: sample only from the k most likely tokens, from the smallest set of most likely tokens whose
        probabilities add up to p (nucleus sampling, Holtzman et al., 2020), from the tokens at least p times as likely
        as the most likely one; applied in this order
    repetition_penalty: multiplies the log-probability of tokens that the row already contains (Keskar et al., 2019)
    beams: the number of sequences that beam search keeps for every row
    best: the number of sequences returned for every row, best first
    normalisation: the divisor of a log-probability that gives the score: mean is the length, gnmt is
        ((5 + length) / 6)^alpha (Wu et al., 2016), none is 1, which favours short sequences
    no_repeat: no n-gram of this many tokens occurs twice within one row
    allowed: the only tokens that may be generated, besides <eos>
    stops: texts that end a row; the row's text ends before the stop text
    seed: of the sampling
    """

    search: Literal["greedy", "sample", "beam"] = "greedy"
    length: Positive = 100
    temperature: Scale = 1.0
    top_k: Positive | None = None
    top_p: Annotated[float, Range(above=0, high=1)] = 1.0
    min_p: Probability = 0.0
    repetition_penalty: Annotated[float, Range(low=1)] = 1.0
    beams: Positive = 4
    best: Positive = 1
    normalisation: Literal["none", "mean", "gnmt"] = "mean"
    alpha: Annotated[float, Range(low=0)] | None = None
    no_repeat: Positive | None = None
    allowed: list[int] | None = None
    stops: list[str] | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        for field in fields(self):
            searches = ONLY.get(field.name)
            if searches is not None and self.search not in searches and getattr(self, field.name) != field.default:
                raise Invalid(
                    field.name,
                    f"{getattr(self, field.name)} has no effect with search: {self.search}. "
                    f"Use search: {' or '.join(searches)}, or leave it out.",
                )
        if self.alpha is not None and self.normalisation != "gnmt":
            raise Invalid("alpha", f"{self.alpha} has no effect with normalisation: {self.normalisation}. Use gnmt.")
        if self.search == "beam" and self.best > self.beams:
            raise Invalid("best", f"{self.best} sequences cannot come out of {self.beams} beams. Raise beams.")
        if self.allowed is not None and not self.allowed:
            raise Invalid("allowed", "is empty, so that no token may come. List some, or leave it out.")
        if self.stops is not None and "" in self.stops:
            raise Invalid("stops", "holds an empty text, which ends every row before it begins. Remove it.")

    def divisor(self, length: Any) -> Any:
        """The divisor of a log-probability that gives the score; ``length`` is a number or a tensor of lengths."""
        if self.normalisation == "none":
            return length**0
        if self.normalisation == "mean":
            return length
        return ((5 + length) / 6) ** (GNMT if self.alpha is None else self.alpha)


def check_fields(options: Any) -> None:
    """Raise Invalid for a field of a dataclass whose annotation does not allow its value."""
    for name, annotation in get_type_hints(type(options), include_extras=True).items():
        check(name, getattr(options, name), annotation)


def check(name: str, value: Any, annotation: Any) -> None:
    """Raise Invalid for a value that its annotation does not allow."""
    report = Report()
    if bind_value(name, value, annotation, name, report) is FAILED:
        raise Invalid(name, report.problems[0].message)
