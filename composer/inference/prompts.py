"""Autoregressive decoding from prompts.

The graph decides what a prompt is. For a model with given inputs, such as an encoder-decoder, the prompt is their
values. For a language model, which reads only what it generates, the prompt is the beginning of the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import torch

from composer.core.capabilities import offers
from composer.core.problems import Invalid, UserError, did_you_mean, listed
from composer.core.signals import Ids
from composer.data.codecs.codec import id_rows
from composer.data.packed.packed_rows import padded
from composer.decoding import Hypothesis, Settings, generate, steps
from composer.decoding.growing_text import ShownRow
from composer.graph.graph import Graph
from composer.graph.nodes import Node
from composer.inference.prediction_records import hypothesis_record
from composer.inference.typed_rows import as_rows, encoded, field_columns, gathered, unknown_tokens
from composer.objectives import Objective

#: The settings that imply sampling.
DRAWN = ("temperature", "top_k", "top_p", "min_p")


@dataclass(frozen=True, eq=False)
class Generation:
    """The sequences that were generated for one prompt.

    hypotheses: sequences, best first; their texts do not repeat the prompt
    unknown: tokens of the prompt that are not in the vocabulary
    """

    prompt: Any
    hypotheses: list[Hypothesis]
    unknown: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return self.hypotheses[0].text or ""

    @property
    def score(self) -> float:
        return self.hypotheses[0].score

    def __str__(self) -> str:
        return self.text

    def plain(self) -> dict[str, Any]:
        """This generation as data for JSON."""
        found = hypothesis_record(self.hypotheses, "text", [hypothesis.text for hypothesis in self.hypotheses])
        return {"prompt": self.prompt, **found, **({"unknown": self.unknown} if self.unknown else {})}


def settings_for(graph: Graph, options: Mapping[str, Any]) -> Settings:
    """The decoding settings. If ``search`` is not among the options, the other options and the model decide it:

    ``beams`` means beam search; ``temperature``, ``top_k``, ``top_p`` or ``min_p`` mean sampling; otherwise, a model
    with given inputs decodes greedily (with ``best`` above 1 by beam search), and a language model samples.
    """
    known = [setting.name for setting in fields(Settings)]
    for name in options:
        if name not in known:
            raise Invalid(
                name, f"there is no such setting.{did_you_mean(name, known)}  (settings: {listed(known, 20)})"
            )
    chosen = dict(options)
    if "search" not in chosen:
        if "beams" in chosen:
            chosen["search"] = "beam"
        elif any(name in chosen for name in DRAWN) or not graph.plan.given:
            chosen["search"] = "sample"
        elif chosen.get("best", 1) > 1:
            chosen["search"] = "beam"
            chosen["beams"] = max(Settings.beams, chosen["best"])
    return Settings(**chosen)


class Prompts:
    """Prompts as a graph reads them: for every row, the given inputs and the first tokens of the sequence (prefix).

    forced: text that every generated sequence has to start with
    allowed: only the tokens of this text may be generated
    head: the head whose tokens to generate, if there are several
    options: the keywords of composer.decoding.Settings
    unknown: for every prompt, its tokens that are not in the vocabulary
    """

    def __init__(
        self, graph: Graph, objective: Objective, prompts: str | Sequence[Any], *, forced: str | None = None,
        allowed: str | None = None, head: str | None = None, **options: Any,
    ) -> None:  # fmt: skip
        self.graph, self.objective, self.head = graph, objective, token_head(graph, head)
        self.target = str(self.head.predicts)
        if allowed is not None:
            stop, rows = objective.fields[self.target].stop, id_rows(objective.encode(self.target, [allowed]))
            options["allowed"] = sorted({token for row in rows for token in row if token != stop})
        self.settings = settings_for(graph, options)
        values = as_rows(prompts)
        if not values:
            raise UserError("there is no prompt. Give one; an empty one where the model begins from nothing.")
        read = graph.reads(self.head.name)
        fields = {name: field for name, field in graph.plan.given.items() if name in read}
        self.given, typed = list(fields), objective.shown_once(fields)
        self.values: list[Any] = gathered(values, typed) if len(typed) > 1 else values
        if not self.given and forced:
            raise UserError("the prompt of this model is what its text begins with: write the forced tokens there.")
        columns = field_columns(self.values, fields, objective, "prompt") if self.given else {}
        self.inputs = encoded(columns, graph, objective)
        texts = [forced or ""] * len(self.values) if self.given else [str(value) for value in values]
        self.prefixes = self._prefixes(texts)
        self.unknown = unknown_tokens(columns or {self.target: texts}, objective)

    def _prefixes(self, texts: list[str]) -> list[list[int]]:
        """The tokens of every row's prefix, without the tokens that end a text."""
        if not any(texts):
            return [[] for _ in texts]
        rows = id_rows(self.objective.encode(self.target, texts))
        field = self.graph.plan.targets[self.target]
        for end in (field.stop, field.contents.frame and field.contents.frame[1]):
            rows = [row[:-1] if row and row[-1] == end else row for row in rows]
        return rows

    @property
    def prompt(self) -> Ids | None:
        """The prefixes as one padded batch; None if every prefix is empty."""
        if not any(self.prefixes):
            return None
        return Ids(*padded(self.prefixes)).to(self.graph.device)

    @property
    def shows(self) -> list[ShownRow]:
        """For every row, what turns generated tokens into text, which includes ``forced`` but not the prompt."""
        repeats, grows = bool(self.given), self.objective.fields[self.target].contents.grows
        return [ShownRow(self._text, prefix, repeats, grows) for prefix in self.prefixes]

    def generate(self) -> list[Generation]:
        """Decode all prompts as one batch."""
        found = generate(
            self.graph, self.inputs, self.settings, head=self.head, prompt=self.prompt, batch=len(self.values),
            show=self.shows,
        )  # fmt: skip
        rows = zip(self.values, found.rows, self.unknown, strict=True)
        return [Generation(value, hypotheses, unknown) for value, hypotheses, unknown in rows]

    def stream(self) -> Iterator[str]:
        """The text for a single prompt, in pieces while it is generated."""
        made = steps(self.graph, self.inputs, self.settings, head=self.head, prompt=self.prompt, show=self.shows)
        yield from (step.texts[0] for step in made if step.texts and step.texts[0])

    def _text(self, tokens: list[int]) -> str:
        return self.objective.show(self.target, Ids(torch.tensor([tokens], dtype=torch.long)))[0]


def token_head(graph: Graph, head: str | None) -> Node:
    """The head whose tokens are generated. A model without such a head is an error that points to ``predict``."""
    heads = [node.name for node in graph.heads if graph.target(node).generates]
    able = [name for name in heads if offers(graph.nodes[name], "log_probabilities")]
    if not able or (head is not None and head in heads and head not in able):
        kinds = listed(f"{node.predicts} ({graph.plan.targets[str(node.predicts)].kind})" for node in graph.heads)
        raise UserError(f"this model generates no tokens: it predicts {kinds}. Use predict.")
    return graph.generating_head("ids", head)
