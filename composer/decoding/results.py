"""What came out of a generation."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from composer.core.signals import Ids


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One sequence, without its prompt.

    tokens: (T,), <eos> included if it ended with it
    log_probability: what the model gives these tokens after the prompt, whatever temperature or constraint chose them
    score: the same normalised for length
    finished: whether it ended by itself, with <eos> or a stop text, and not at the limit
    text: what it says, up to a stop text, where the caller said how to show tokens
    """

    tokens: Tensor
    log_probability: float
    score: float
    finished: bool
    text: str | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """Every row's hypotheses, best first."""

    rows: list[list[Hypothesis]]

    @property
    def tokens(self) -> Ids:
        """The best of every row, side by side."""
        best = [row[0].tokens for row in self.rows]
        lengths = torch.tensor([len(tokens) for tokens in best], device=best[0].device)
        return Ids(torch.nn.utils.rnn.pad_sequence(best, batch_first=True), lengths)

    @property
    def texts(self) -> list[str | None]:
        return [row[0].text for row in self.rows]
