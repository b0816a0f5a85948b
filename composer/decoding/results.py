"""The result of a generation."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from composer.core.signals import Ids


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
class Result:
    """The hypotheses of every row, best first."""

    rows: list[list[Hypothesis]]

    @property
    def tokens(self) -> Ids:
        """The tokens of the best hypothesis of every row, as one padded batch."""
        best = [row[0].tokens for row in self.rows]
        lengths = torch.tensor([len(tokens) for tokens in best], device=best[0].device)
        return Ids(torch.nn.utils.rnn.pad_sequence(best, batch_first=True), lengths)

    @property
    def texts(self) -> list[str | None]:
        return [row[0].text for row in self.rows]
