"""Generation of tokens: whole sequences with ``generate``, or one token at a time with ``steps``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from composer.core.problems import Invalid
from composer.core.signals import Ids, Signal
from composer.decoding.beams import beam_search
from composer.decoding.growing_text import GrowingText, Show, show_rows
from composer.decoding.next_token import Draws, TokenChoice, cut_down, right_aligned
from composer.decoding.results import Hypothesis, Result
from composer.decoding.settings import Settings
from composer.decoding.stream import Stream
from composer.decoding.written_rows import WrittenRows
from composer.graph.graph import Graph
from composer.graph.nodes import Node


@dataclass(frozen=True, eq=False)
class NextTokens:
    """The next token of every unfinished row.

    rows: (R,), the numbers of these rows; with several samples a row, sample j of row i has the number i * best + j
    tokens: (R,)
    log_probabilities: (R,), of these tokens
    done: (R,), whether a row ends with this token
    texts: the new text of each row; None where the caller gave no ``show``
    """

    rows: Tensor
    tokens: Tensor
    log_probabilities: Tensor
    done: Tensor
    texts: list[str] | None = None


def generate(
    graph: Graph,
    inputs: Mapping[str, Signal],
    settings: Settings | None = None,
    *,
    head: Node | str | None = None,
    prompt: Ids | None = None,
    batch: int = 1,
    show: Show | Sequence[Show] | None = None,
) -> Result:
    """Generate sequences with their scores for every row of the inputs.

    head: the head that generates, where the graph has several such heads
    prompt: the tokens that each row begins with, of any length a row; they are not part of the result
    batch: the number of rows, where neither the inputs nor a prompt determine it
    show: turns tokens into text, for the texts of the result and for stop texts; a sequence gives each row its own
    """
    settings = settings or Settings()
    if settings.search == "beam":
        _check_stops(settings, show)
        with torch.inference_mode():
            stream = _stream(graph, inputs, head, batch, prompt)
            shows = show_rows(show, stream.batch)
            found = beam_search(stream, settings, _choices(settings, stream, prompt), shows)
        return Result([[_outside(hypothesis) for hypothesis in row] for row in found])
    with torch.inference_mode():
        run = _Run(graph, inputs, settings, head, prompt, batch, show)
        for _ in run.steps():
            pass
        found = run.hypotheses()
    return Result([[_outside(hypothesis) for hypothesis in row] for row in found])


@torch.no_grad()  # and not inference mode, whose tensors the caller could not combine with others
def steps(
    graph: Graph,
    inputs: Mapping[str, Signal],
    settings: Settings | None = None,
    *,
    head: Node | str | None = None,
    prompt: Ids | None = None,
    batch: int = 1,
    show: Show | Sequence[Show] | None = None,
) -> Iterator[NextTokens]:
    """As ``generate``, but every token is yielded as soon as it is chosen. Beam search cannot do that."""
    settings = settings or Settings()
    if settings.search == "beam":
        raise Invalid("search", "beam knows its tokens only at the end, not as they come. Use greedy or sample.")
    yield from _Run(graph, inputs, settings, head, prompt, batch, show).steps()


class _Run:
    """One generation by greedy decoding or sampling."""

    def __init__(
        self,
        graph: Graph,
        inputs: Mapping[str, Signal],
        settings: Settings,
        head: Node | str | None,
        prompt: Ids | None,
        batch: int,
        show: Show | Sequence[Show] | None,
    ) -> None:
        _check_stops(settings, show)
        self.settings = settings
        self.stream = _stream(graph, inputs, head, batch, prompt)
        shows = show_rows(show, self.stream.batch)
        self.choices = _choices(settings, self.stream, prompt)
        device = self.stream.output.device
        if settings.best > 1:
            many = torch.arange(self.stream.batch, device=device).repeat_interleave(settings.best)
            self.stream.select(many)
            self.choices.select(many)
        count = self.stream.batch
        self.rows = WrittenRows(count, device)
        self.draws = Draws(settings.seed, count, settings.length, device) if settings.search == "sample" else None
        self.texts: list[GrowingText] | None = None
        if shows is not None:
            self.texts = [GrowingText(own, settings.stops or ()) for own in shows for _ in range(settings.best)]
        self.finished = torch.zeros(count, dtype=torch.bool, device=device)

    def steps(self) -> Iterator[NextTokens]:
        stream, stop, length = self.stream, self.stream.field.stop, self.settings.length
        for index in range(length):
            found = stream.head.log_probabilities(stream.output)  # (R, V)
            scores = self.choices.constrained(found)
            self.choices.refuse_nothing(scores, self.rows.done)
            token = self._choose(index, scores)
            gained = found.gather(1, token[:, None])[:, 0]
            ended = token == stop if stop is not None else torch.zeros_like(token, dtype=torch.bool)
            ended, fresh = self._extend_texts(token, ended, last=index + 1 == length)
            over = self.rows.done
            self.finished[self.rows.present] |= ended
            self.rows.write(token, gained, ended=ended)
            self.choices.append(token)
            going = ~over
            yield NextTokens(self.rows.present[going], token[going], gained[going], ended[going], fresh)
            left = self.rows.going_on()
            if left is not None:
                if not len(left):
                    return
                self._select(left)
                token = token[left]
            if index + 1 < length:
                stream.advance(token)

    def hypotheses(self) -> list[list[Hypothesis]]:
        """The hypotheses of every row, best first."""
        lengths, (tokens, gained) = self.rows.together()
        sums = gained.double().sum(1)
        scores = sums / self.settings.divisor(lengths)
        found = [
            Hypothesis(
                tokens[row, : int(lengths[row])],
                float(sums[row]),
                float(scores[row]),
                bool(self.finished[row]),
                None if self.texts is None else self.texts[row].whole,
            )
            for row in range(self.rows.batch)
        ]
        best = self.settings.best
        groups = [found[start : start + best] for start in range(0, len(found), best)]
        return [sorted(group, key=lambda hypothesis: -hypothesis.score) for group in groups]

    def _choose(self, index: int, scores: Tensor) -> Tensor:
        if self.draws is None:
            return scores.argmax(-1)
        return self.draws.token(index, cut_down(scores, self.settings))

    def _extend_texts(self, token: Tensor, ended: Tensor, last: bool) -> tuple[Tensor, list[str] | None]:
        """Which rows end, by <eos> or by a stop text, and the new text of every row that had not ended before."""
        if self.texts is None:
            return ended, None
        fresh, stopped = [], ended.tolist()
        for place, (row, over) in enumerate(zip(self.rows.present.tolist(), self.rows.done.tolist(), strict=True)):
            if over:
                continue
            text = self.texts[row]
            if not stopped[place]:  # <eos> adds no text
                stopped[place] = text.add(int(token[place]))
            fresh.append(text.fresh(last=last or stopped[place]))
        return torch.tensor(stopped, device=ended.device), fresh

    def _select(self, rows: Tensor) -> None:
        self.stream.select(rows)
        self.choices.select(rows)
        if self.draws is not None:
            self.draws.select(rows)


def _stream(
    graph: Graph, inputs: Mapping[str, Signal], head: Node | str | None, batch: int, prompt: Ids | None
) -> Stream:  # fmt: skip
    stream = Stream(graph, inputs, head, batch, prompt)
    stream.needs("log_probabilities", "choosing tokens with their scores")
    return stream


def _choices(settings: Settings, stream: Stream, prompt: Ids | None) -> TokenChoice:
    device = stream.output.device
    if prompt is None:
        history = torch.zeros(stream.batch, 0, dtype=torch.long, device=device)
    else:
        history = right_aligned(prompt.filled(0).to(device), prompt.counts.to(device))
    return TokenChoice(settings, stream.field, history)


def _check_stops(settings: Settings, show: Show | Sequence[Show] | None) -> None:
    if settings.stops and show is None:
        raise Invalid("stops", "are texts, and nothing says how to show tokens as text. Give 'show' as well.")


def _outside(hypothesis: Hypothesis) -> Hypothesis:
    """A copy whose tensor can be used outside inference mode."""
    h = hypothesis
    return Hypothesis(h.tokens.clone(), h.log_probability, h.score, h.finished, h.text)
