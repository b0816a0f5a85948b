"""Beam search: the several best sequences of every row are extended in parallel.

Every beam may end at every step. Each ended sequence enters the pool of its row, which keeps the best ones; the best
sequences that have not ended are the beams of the next step. A row is complete when no beam can enter its pool any
more: a sum of log-probabilities never rises, so the sum so far, divided by the divisor of the maximal length, is an
upper bound on the score of every continuation. With as many beams as there are sequences, the search is exhaustive.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from composer.core.problems import UserError
from composer.decoding.growing_text import GrowingText, ShownRow, shown_text
from composer.decoding.predictions import Hypothesis
from composer.decoding.settings import Settings
from composer.decoding.stream import Stream
from composer.decoding.token_choice import TokenChoice


def beam_search(
    stream: Stream, settings: Settings, choices: TokenChoice, shows: Sequence[ShownRow] | None
) -> list[list[Hypothesis]]:
    """The hypotheses of every row, best first. ``shows``: for each row, what turns tokens into text."""
    rows, device, stop = stream.batch, stream.output.device, stream.field.stop
    pool = Pool(rows, settings, device)
    totals = torch.zeros(rows, 1, dtype=torch.float64, device=device)  # (B, K), -inf where a beam is dead
    tokens = torch.zeros(rows, 1, 0, dtype=torch.long, device=device)  # (B, K, T)
    stops = settings.stops or ()
    texts = [[GrowingText(row, stops)] for row in shows] if shows is not None and stops else []  # by row and beam
    for step in range(settings.length):
        beams, vocabulary = totals.shape[1], stream.output.shape[-1]
        found = stream.head.log_probabilities(stream.output)  # (B K, V)
        hidden = choices.constrained(found) == -torch.inf
        sums = totals[..., None] + found.double().masked_fill(hidden, -torch.inf).view(rows, beams, -1)  # (B, K, V)
        if stop is not None:
            pool.add(sums[..., stop], F.pad(tokens, (0, 1), value=stop), finished=True)
            sums[..., stop] = -torch.inf
        totals, places = sums.flatten(1).topk(min(settings.beams, beams * vocabulary))  # (B, K)
        origin, token = places // vocabulary, places % vocabulary
        tokens = torch.cat([tokens.gather(1, origin[..., None].expand(-1, -1, step)), token[..., None]], dim=2)
        if texts:
            texts, stopped = extended(texts, origin, token)
            pool.add(totals.masked_fill(~stopped, -torch.inf), tokens, finished=True)
            totals = totals.masked_fill(stopped, -torch.inf)
        if pool.complete(totals):
            break
        if step + 1 == settings.length:
            pool.add(totals, tokens, finished=False)
            break
        order = (torch.arange(rows, device=device)[:, None] * beams + origin).flatten()
        if len(order) != stream.batch or not torch.equal(order, torch.arange(len(order), device=device)):
            stream.select(order)
            choices.select(order)
        choices.append(token.flatten())
        stream.advance(token.flatten())
    return pool.hypotheses(shows, stop)


class Pool:
    """The best sequences of every row among those that have ended or reached the maximal length."""

    def __init__(self, rows: int, settings: Settings, device: torch.device) -> None:
        self.settings = settings
        self.scores = torch.full((rows, 0), -torch.inf, dtype=torch.float64, device=device)  # (B, N)
        self.sums = self.scores
        self.lengths = torch.zeros(rows, 0, dtype=torch.long, device=device)
        self.finished = torch.zeros(rows, 0, dtype=torch.bool, device=device)
        self.tokens = torch.zeros(rows, 0, 0, dtype=torch.long, device=device)  # (B, N, T)

    def add(self, sums: Tensor, tokens: Tensor, finished: bool) -> None:
        """Add sequences (B, K, T) with their log-probabilities (B, K); -inf marks a beam without a sequence."""
        time = tokens.shape[2]
        lengths = torch.full_like(sums, time, dtype=torch.long)
        scores = torch.cat([self.scores, sums / self.settings.divisor(time)], dim=1)
        earlier = F.pad(self.tokens, (0, time - self.tokens.shape[2]))  # new sequences are never shorter than these
        self.scores, best = scores.topk(min(self.settings.best, scores.shape[1]))
        self.sums = torch.cat([self.sums, sums], dim=1).gather(1, best)
        self.lengths = torch.cat([self.lengths, lengths], dim=1).gather(1, best)
        ended = torch.full_like(lengths, finished, dtype=torch.bool)
        self.finished = torch.cat([self.finished, ended], dim=1).gather(1, best)
        self.tokens = torch.cat([earlier, tokens], dim=1).gather(1, best[..., None].expand(-1, -1, time))

    def complete(self, totals: Tensor) -> bool:
        """Whether no beam can enter the pool of its row any more. ``totals``: the beams' log-probabilities, (B, K)."""
        if self.scores.shape[1] < self.settings.best:
            return bool((totals == -torch.inf).all())
        bound = totals.amax(1) / self.settings.divisor(self.settings.length)
        return bool((bound <= self.scores[:, -1]).all())

    def hypotheses(self, shows: Sequence[ShownRow] | None, stop: int | None) -> list[list[Hypothesis]]:
        found = []
        for row in range(len(self.scores)):
            real = [n for n in range(self.scores.shape[1]) if self.scores[row, n] > -torch.inf]
            if len(real) < self.settings.best:
                raise UserError(
                    f"Only {len(real)} sequences of up to {self.settings.length} tokens were found for row {row}, but "
                    f"best asks for {self.settings.best}. Ask for fewer, or allow more."
                )
            found.append([self._hypothesis(row, n, None if shows is None else shows[row], stop) for n in real])
        return found

    def _hypothesis(self, row: int, n: int, show: ShownRow | None, stop: int | None) -> Hypothesis:
        tokens = self.tokens[row, n, : int(self.lengths[row, n])]
        text = shown_text(show, tokens, stop, self.settings.stops or ())
        sums, score = float(self.sums[row, n]), float(self.scores[row, n])
        return Hypothesis(tokens, sums, score, bool(self.finished[row, n]), text)


def extended(
    texts: list[list[GrowingText]], origin: Tensor, token: Tensor
) -> tuple[list[list[GrowingText]], Tensor]:  # fmt: skip
    """The texts of the next beams, each of an earlier one, (B, K), and a token, (B, K); which ended at a stop text."""
    found = [[row[place].copy() for place in places] for row, places in zip(texts, origin.tolist(), strict=True)]
    stopped = [
        [text.add(one) for text, one in zip(row, tokens, strict=True)]
        for row, tokens in zip(found, token.tolist(), strict=True)
    ]
    return found, torch.tensor(stopped, device=token.device)
