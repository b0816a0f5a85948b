"""Generation of tokens: whole sequences with ``generate``, or one token at a time with ``steps``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from composer.core.problems import Invalid
from composer.core.signals import Ids, Signal
from composer.decoding.beams import beam_search
from composer.decoding.growing_text import GrowingText, Show, shown_rows, shown_text
from composer.decoding.predictions import Generated, Hypothesis
from composer.decoding.settings import Settings
from composer.decoding.stream import Stream
from composer.decoding.token_choice import TokenChoice, cut_down, drawn, row_numbers
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
    graph: Graph, inputs: Mapping[str, Signal], settings: Settings | None = None, *, head: Node | str | None = None,
    prompt: Ids | None = None, batch: int = 1, show: Show | Sequence[Show] | None = None,
) -> Generated:  # fmt: skip
    """Generate sequences with their scores for every row of the inputs.

    head: the head that generates, where the graph has several such heads
    prompt: the tokens that each row begins with, of any length a row; they are not part of the result
    batch: the number of rows, where neither the inputs nor a prompt determine it
    show: turns tokens into text, for the texts of the result and for stop texts; a sequence gives each row its own.
        The text of more tokens has to go on from that of fewer, unless ``show`` is a ``ShownRow`` that says otherwise
    """
    with torch.inference_mode():
        run = _Run(graph, inputs, settings or Settings(), head, prompt, batch, show)
        if run.settings.search == "beam":
            found = beam_search(run.stream, run.settings, run.choices, run.shows)
        else:
            for _ in run.steps(watched=False):
                pass
            found = run.hypotheses()
    # Copies, whose tensors can be used outside inference mode.
    return Generated.of([[replace(one, tokens=one.tokens.clone()) for one in row] for row in found])


@torch.no_grad()  # and not inference mode, whose tensors the caller could not combine with others
def steps(
    graph: Graph, inputs: Mapping[str, Signal], settings: Settings | None = None, *, head: Node | str | None = None,
    prompt: Ids | None = None, batch: int = 1, show: Show | Sequence[Show] | None = None,
) -> Iterator[NextTokens]:  # fmt: skip
    """As ``generate``, but every token is yielded as soon as it is chosen. Beam search cannot do that."""
    settings = settings or Settings()
    if settings.search == "beam":
        raise Invalid("search", "beam knows its tokens only at the end, not as they come. Use greedy or sample.")
    yield from _Run(graph, inputs, settings, head, prompt, batch, show).steps(watched=True)


class _Run:
    """One generation."""

    def __init__(
        self, graph: Graph, inputs: Mapping[str, Signal], settings: Settings, head: Node | str | None,
        prompt: Ids | None, batch: int, show: Show | Sequence[Show] | None,
    ) -> None:  # fmt: skip
        if settings.stops and show is None:
            raise Invalid("stops", "are texts, and nothing says how to show tokens as text. Give 'show' as well.")
        self.settings = settings
        self.stream = Stream(graph, inputs, head, batch, prompt)
        self.stream.needs("log_probabilities", "choosing tokens with their scores")
        self.shows = shown_rows(show, self.stream.batch)
        self.choices = TokenChoice(settings, self.stream.field, prompt, self.stream.output)
        self.rows = WrittenRows(self.stream.batch * settings.best, self.stream.output.device)
        self.finished = torch.zeros_like(self.rows.done)

    def steps(self, watched: bool) -> Iterator[NextTokens]:
        """Greedy decoding or sampling. ``watched``: whether the caller reads the texts of the steps."""
        stream, stop, settings, rows = self.stream, self.stream.field.stop, self.settings, self.rows
        if settings.best > 1:
            self._select(torch.arange(stream.batch, device=rows.done.device).repeat_interleave(settings.best))
        numbers = None
        if settings.search == "sample":
            numbers = row_numbers(settings.seed, stream.batch, settings.length, rows.done.device)
        texts = None
        if self.shows is not None and (watched or settings.stops):
            texts = [GrowingText(row, settings.stops or ()) for row in self.shows for _ in range(settings.best)]
        for index in range(settings.length):
            found = stream.head.log_probabilities(stream.output)  # (R, V)
            scores = self.choices.constrained(found)
            self.choices.refuse_nothing(scores, rows.done)
            if numbers is None:
                token = scores.argmax(-1)
            else:
                token = drawn(cut_down(scores, settings), numbers[rows.present, index])
            gained = found.gather(1, token[:, None])[:, 0]
            ended = token == stop if stop is not None else torch.zeros_like(rows.done)
            ended, fresh = self._extend(texts, token, ended, last=index + 1 == settings.length)
            going = ~rows.done
            self.finished[rows.present] |= ended
            rows.write(token, gained, ended=ended)
            self.choices.append(token)
            yield NextTokens(rows.present[going], token[going], gained[going], ended[going], fresh)
            left = rows.going_on()
            if left is not None:
                if not len(left):
                    return
                self._select(left)
                token = token[left]
            if index + 1 < settings.length:
                stream.advance(token)

    def hypotheses(self) -> list[list[Hypothesis]]:
        """The hypotheses of every row, best first."""
        best, stops = self.settings.best, self.settings.stops or ()
        lengths, (tokens, gained) = self.rows.together()
        sums = gained.double().sum(1)
        scores = sums / self.settings.divisor(lengths)
        found = []
        for row, length in enumerate(lengths.tolist()):
            own = tokens[row, :length]
            show = None if self.shows is None else self.shows[row // best]
            text = shown_text(show, own, self.stream.field.stop, stops)
            found.append(Hypothesis(own, float(sums[row]), float(scores[row]), bool(self.finished[row]), text))
        groups = [found[start : start + best] for start in range(0, len(found), best)]
        return [sorted(group, key=lambda hypothesis: -hypothesis.score) for group in groups]

    def _extend(
        self, texts: list[GrowingText] | None, token: Tensor, ended: Tensor, last: bool
    ) -> tuple[Tensor, list[str] | None]:
        """Which rows end, by <eos> or by a stop text, and the new text of every row that had not ended before."""
        if texts is None:
            return ended, None
        fresh, stopped = [], ended.tolist()
        for place, (row, over) in enumerate(zip(self.rows.present.tolist(), self.rows.done.tolist(), strict=True)):
            if over:
                continue
            if not stopped[place]:  # <eos> adds no text
                stopped[place] = texts[row].add(int(token[place]))
            fresh.append(texts[row].fresh(last=last or stopped[place]))
        return torch.tensor(stopped, device=ended.device), fresh

    def _select(self, rows: Tensor) -> None:
        self.stream.select(rows)
        self.choices.select(rows)
