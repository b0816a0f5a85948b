"""The choice of the next token: constraints, truncation of the distribution (top-k, top-p, min-p), and sampling.

All of this acts on log-probabilities (R, V) of the rows that are still in the batch. Scores use the log-probabilities
of the model itself, before constraints and truncation.
"""

from __future__ import annotations

import zlib

import torch
from torch import Tensor

from composer.core.problems import UserError
from composer.core.signals import Field, Ids
from composer.decoding.settings import Settings

NOWHERE = -1  # pads the history of a row on the left


class TokenChoice:
    """The constraints of the settings, with the tokens that every row has read and generated so far.

    history: (R, T), right-aligned: the last token of every row is in the last column
    """

    def __init__(self, settings: Settings, field: Field, prompt: Ids | None, output: Tensor) -> None:
        self.settings, self.stop = settings, field.stop
        self.history = output.new_zeros(len(output), 0, dtype=torch.long)
        if prompt is not None:
            self.history = right_aligned(prompt.filled(0).to(output.device), prompt.counts.to(output.device))
        self.hidden = self._not_allowed(settings.allowed, field.vocabulary, output.device)
        self.looks_back = settings.no_repeat is not None or settings.repetition_penalty != 1

    def constrained(self, log_probabilities: Tensor) -> Tensor:
        """The log-probabilities (R, V) with -inf for forbidden tokens. <eos> is never forbidden."""
        scores = log_probabilities
        if (penalty := self.settings.repetition_penalty) != 1:
            seen = self._marked(self.history, scores.shape[-1])
            scores = torch.where(seen, scores * penalty, scores).log_softmax(-1)
        if self.hidden is not None:
            scores = scores.masked_fill(self.hidden, -torch.inf)
        if self.settings.no_repeat is not None:
            scores = scores.masked_fill(self._repeats(self.settings.no_repeat, scores.shape[-1]), -torch.inf)
        return scores

    def refuse_nothing(self, scores: Tensor, done: Tensor) -> None:
        """Raise an error where the constraints forbid every token of a row that is not done. ``done``: (R,)."""
        if self.settings.no_repeat is not None and bool(((scores == -torch.inf).all(-1) & ~done).any()):
            raise UserError(
                f"Nothing may come after {self.history.shape[1]} tokens: 'allowed' and 'no_repeat' rule out every "
                "token there is. Allow more, or forbid less."
            )

    def append(self, tokens: Tensor) -> None:
        """Add the token that every row has generated, (R,)."""
        if self.looks_back:
            self.history = torch.cat([self.history, tokens[:, None]], dim=1)

    def select(self, rows: Tensor) -> None:
        self.history = self.history[rows]

    def _not_allowed(self, allowed: list[int] | None, vocabulary: int | None, device: torch.device) -> Tensor | None:
        """(V,): the tokens outside ``allowed``; None where all tokens are allowed."""
        if allowed is None:
            return None
        assert vocabulary is not None
        unknown = [token for token in allowed if not 0 <= token < vocabulary]
        if unknown:
            raise UserError(f"allowed: there is no token {unknown[0]} in a vocabulary of {vocabulary}.")
        hidden = torch.ones(vocabulary, dtype=torch.bool, device=device)
        hidden[allowed + ([self.stop] if self.stop is not None else [])] = False
        return hidden

    def _repeats(self, size: int, vocabulary: int) -> Tensor:
        """(R, V): the tokens that would complete an n-gram of ``size`` tokens that the row already contains."""
        if self.history.shape[1] < size:
            return torch.zeros(len(self.history), vocabulary, dtype=torch.bool, device=self.history.device)
        runs = self.history.unfold(1, size, 1)  # (R, N, size)
        last = self.history[:, self.history.shape[1] - size + 1 :]  # (R, size - 1)
        same = (runs[..., :-1] == last[:, None]).all(-1) & (last != NOWHERE).all(-1, keepdim=True)
        return self._marked(runs[..., -1].masked_fill(~same, NOWHERE), vocabulary)

    def _marked(self, tokens: Tensor, vocabulary: int) -> Tensor:
        """(R, V): True for each of the tokens (R, N) except <eos>, which is always allowed."""
        marks = torch.zeros(len(tokens), vocabulary + 1, dtype=torch.bool, device=tokens.device)
        marks.scatter_(1, tokens.remainder(vocabulary + 1), True)  # NOWHERE is the last column, which is cut off
        if self.stop is not None:
            marks[:, self.stop] = False
        return marks[:, :-1]


def cut_down(scores: Tensor, settings: Settings) -> Tensor:
    """The distribution to sample from, after temperature, top-k, top-p and min-p: log-probabilities (R, V), or -inf."""
    scores = (scores / settings.temperature).log_softmax(-1)
    if settings.top_k is not None and settings.top_k < scores.shape[-1]:
        least = scores.topk(settings.top_k).values[..., -1:]
        scores = scores.masked_fill(scores < least, -torch.inf).log_softmax(-1)
    if settings.top_p < 1:
        ordered, order = scores.sort(descending=True, stable=True)
        before = ordered.exp().cumsum(-1) - ordered.exp()  # the total probability of all likelier tokens
        hidden = torch.zeros_like(before, dtype=torch.bool).scatter(-1, order, before >= settings.top_p)
        scores = scores.masked_fill(hidden, -torch.inf).log_softmax(-1)
    if settings.min_p > 0:
        least = scores.amax(-1, keepdim=True).exp() * settings.min_p
        scores = scores.masked_fill(scores.exp() < least, -torch.inf).log_softmax(-1)
    return scores


def row_numbers(seed: int, rows: int, length: int, device: torch.device) -> Tensor:
    """(R, T): random numbers between 0 and 1, which for a row depend only on the seed and the number of the row."""
    own = [torch.Generator().manual_seed(zlib.crc32(f"{seed}/{row}".encode())) for row in range(rows)]
    return torch.stack([torch.rand(length, generator=generator) for generator in own]).to(device)


def drawn(log_probabilities: Tensor, numbers: Tensor) -> Tensor:
    """(R,): for each row of (R, V) the first token whose cumulative probability exceeds its number, (R,)."""
    sums = log_probabilities.double().exp().cumsum(-1)
    found = torch.searchsorted(sums, numbers[:, None].double() * sums[:, -1:], right=True)[:, 0]
    return found.clamp(max=sums.shape[-1] - 1)


def right_aligned(prompt: Tensor, lengths: Tensor) -> Tensor:
    """(B, T): the tokens of each row moved to the end of the row, with NOWHERE before them."""
    places = torch.arange(prompt.shape[1], device=prompt.device) - (prompt.shape[1] - lengths[:, None])  # (B, T)
    return prompt.gather(1, places.clamp(min=0)).masked_fill(places < 0, NOWHERE)
