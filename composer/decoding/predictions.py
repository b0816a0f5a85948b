"""What heads predict for a batch: the types that ``decode`` and ``generate`` return."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from composer.core.signals import Ids, Signal


@dataclass(frozen=True, eq=False)
class Prediction:
    """A head's prediction for a batch.

    found: a signal like the target: the most likely tokens or classes, the means of real values
    output: the head's output, with teacher forcing where the head generates; None after autoregressive decoding
    """

    found: Signal
    output: Signal | None = field(default=None, kw_only=True)


@dataclass(frozen=True, eq=False)
class Aligned(Prediction):
    """The prediction of a head that computes all steps at once, such as classes, tags, or tokens aligned by CTC."""


@dataclass(frozen=True, eq=False)
class Forecast(Prediction):
    """Real values.

    paths: (B, samples, ..., D), sampled values; None where none were asked for, or the head cannot sample
    deviation: (B, ..., D), the unit of calibrated bounds; None for 1
    """

    paths: Tensor | None = None
    deviation: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Scored(Prediction):
    """A given sequence under a language model, with teacher forcing.

    log_probability, steps: (B,), of the sequence, and how many of its steps count
    """

    log_probability: Tensor
    steps: Tensor


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One generated sequence, without its prompt.

    tokens: (T,), including the final <eos> where there is one
    log_probability: of these tokens given the prompt, under the model itself, without temperature and constraints
    score: the log-probability normalised for length
    finished: whether the sequence ended with <eos> or a stop text, and not at the maximal length
    text: the text of the tokens, up to a stop text; None where the caller gave no ``show``
    """

    tokens: Tensor
    log_probability: float
    score: float
    finished: bool
    text: str | None = None


@dataclass(frozen=True, eq=False)
class Generated(Prediction):
    """Generated tokens.

    found: the tokens of the best hypothesis of every row, as one padded batch
    rows: the hypotheses of every row, best first; empty where the tokens were generated without scores
    """

    found: Ids
    rows: list[list[Hypothesis]] = field(default_factory=list)

    @classmethod
    def of(cls, rows: list[list[Hypothesis]]) -> Generated:
        best = [row[0].tokens for row in rows]
        lengths = torch.tensor([len(tokens) for tokens in best], device=best[0].device)
        return cls(Ids(torch.nn.utils.rnn.pad_sequence(best, batch_first=True), lengths), rows=rows)

    @property
    def tokens(self) -> Ids:
        return self.found

    @property
    def texts(self) -> list[str | None]:
        return [row[0].text for row in self.rows]
