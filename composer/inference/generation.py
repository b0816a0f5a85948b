"""Prompts in, tokens out.

What a prompt is follows from the graph: what it reads and does not generate, or, where it reads nothing else, how the
sequence begins that it goes on with.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import torch

from composer.core.capabilities import offers
from composer.core.problems import Invalid, UserError, did_you_mean, listed
from composer.core.signals import Ids, Signal
from composer.data.codecs import id_rows
from composer.data.packed_rows import padded
from composer.decoding import Hypothesis, Settings, generate, steps
from composer.decoding.growing_text import Show
from composer.graph.graph import Graph
from composer.graph.nodes import Node
from composer.inference.records import rounded
from composer.objectives import Objective

#: What makes a search one of random draws.
DRAWN = ("temperature", "top_k", "top_p", "min_p")


@dataclass(frozen=True, eq=False)
class Generation:
    """What was generated for one prompt.

    hypotheses: best first, as many as asked for; their texts do not repeat the prompt
    unknown: what of the prompt the vocabulary does not have
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
        """As JSON has it."""
        found = [
            {
                "text": h.text,
                "score": rounded(h.score),
                "log_probability": rounded(h.log_probability),
                "finished": h.finished,
            }
            for h in self.hypotheses
        ]
        more = {"unknown": self.unknown} if self.unknown else {}
        return {"prompt": self.prompt, **found[0], **({"others": found[1:]} if len(found) > 1 else {}), **more}


def settings_for(graph: Graph, options: Mapping[str, Any]) -> Settings:
    """Settings from those that were given; where no search is, the one that they and the model speak for.

    Beams search by beam, a temperature and its like draw; otherwise what follows from something given is the most
    likely, and what begins from nothing is drawn.
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
    """Prompts as a graph reads them: for every row what is given, and what its sequence begins with.

    head: the node whose tokens are generated, as ``token_head`` finds it
    """

    def __init__(
        self, graph: Graph, objective: Objective, values: Sequence[Any], forced: str | None, head: Node
    ) -> None:  # fmt: skip
        if not values:
            raise UserError("there is no prompt. Give one; an empty one where the model begins from nothing.")
        self.head, self.target = head, str(head.predicts)
        self.graph, self.objective, self.values = graph, objective, list(values)
        read = graph.reads(head.name)
        self.given = [name for name in graph.plan.given if name in read]
        self.columns = self._columns()
        self.inputs: dict[str, Signal] = {
            name: objective.encode(name, column).to(graph.device) for name, column in self.columns.items()
        }
        if not self.given and forced:
            raise UserError("the prompt of this model is what its text begins with: write the forced tokens there.")
        beginnings = [forced or ""] * len(values) if self.given else [str(value) for value in values]
        self.prefixes = self._prefixes(beginnings)

    def _columns(self) -> dict[str, list[Any]]:
        """For every field that is given, its values."""
        if not self.given:
            return {}
        rows = self.values
        if len(self.given) > 1:
            rows = [json_object(value, self.given) for value in rows]
            return {name: [row[name] for row in rows] for name in self.given}
        name = self.given[0]
        for value in rows:
            if isinstance(value, str) and not value.strip():
                raise UserError(f"an empty prompt: this model needs its '{name}'. Give one.")
        return {name: rows}

    def _prefixes(self, texts: list[str]) -> list[list[int]]:
        """The tokens that every row begins with, without an end."""
        if not any(texts):
            return [[] for _ in texts]
        rows = id_rows(self.objective.encode(self.target, texts))
        stop = self.graph.plan.targets[self.target].stop
        return [row[:-1] if row and row[-1] == stop else row for row in rows]

    @property
    def prompt(self) -> Ids | None:
        """The beginnings side by side; None where no row has one."""
        if not any(self.prefixes):
            return None
        return Ids(*padded(self.prefixes)).to(self.graph.device)

    @property
    def unknown(self) -> list[list[str]]:
        """What of every prompt the vocabulary does not have."""
        if not self.given:
            return [self.objective.unknown(self.target, str(value)) for value in self.values]
        rows = zip(*self.columns.values(), strict=True)
        pairs = ([*zip(self.columns, row, strict=True)] for row in rows)
        return [[token for name, value in row for token in self.objective.unknown(name, value)] for row in pairs]

    @property
    def shows(self) -> list[Show]:
        """What the tokens of every row say: after what is forced, or without the beginning that was typed."""
        return [self._after(prefix) if self.given else self._beyond(prefix) for prefix in self.prefixes]

    def _after(self, prefix: list[int]) -> Show:
        return lambda tokens: self._text([*prefix, *tokens])

    def _beyond(self, prefix: list[int]) -> Show:
        """In between there may be a space that neither the beginning nor what follows says alone."""
        before = self._text(prefix) if prefix else ""

        def shown(tokens: list[int]) -> str:
            whole = self._text([*prefix, *tokens])
            return whole[len(before) :] if whole.startswith(before) else self._text(tokens)

        return shown

    def _text(self, tokens: list[int]) -> str:
        return self.objective.show(self.target, Ids(torch.tensor([tokens], dtype=torch.long)))[0]


def run(prompts: Prompts, settings: Settings) -> list[Generation]:
    """Everything that was asked for, all prompts side by side."""
    found = generate(
        prompts.graph, prompts.inputs, settings, head=prompts.head, prompt=prompts.prompt, batch=len(prompts.values),
        show=prompts.shows,
    )  # fmt: skip
    rows = zip(prompts.values, found.rows, prompts.unknown, strict=True)
    return [Generation(value, hypotheses, unknown) for value, hypotheses, unknown in rows]


def pieces(prompts: Prompts, settings: Settings) -> Iterator[str]:
    """The text of a single prompt as it comes."""
    for step in steps(
        prompts.graph, prompts.inputs, settings, head=prompts.head, prompt=prompts.prompt, show=prompts.shows
    ):
        if step.texts and step.texts[0]:
            yield step.texts[0]


def token_head(graph: Graph, head: str | None) -> Node:
    """The head that a generation follows. Only tokens are generated; everything else is predicted."""
    heads = [node.name for node in graph.heads if node.predicts in graph.plan.generated]
    able = [name for name in heads if offers(graph.nodes[name], "log_probabilities")]
    if not able or (head is not None and head in heads and head not in able):
        kinds = listed(f"{node.predicts} ({graph.plan.targets[str(node.predicts)].kind})" for node in graph.heads)
        raise UserError(f"this model generates no tokens: it predicts {kinds}. Use predict.")
    return graph.driver("ids", head)


def allowed_tokens(objective: Objective, target: str, text: str) -> list[int]:
    """The tokens that a text is made of, for the setting ``allowed``."""
    stop = objective.fields[target].stop
    return sorted({token for row in id_rows(objective.encode(target, [text])) for token in row if token != stop})


def json_object(value: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """A row with a value for each of several fields."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            example = "{" + ", ".join(f'"{name}": ...' for name in names) + "}"
            raise UserError(f"'{value}': this model reads {listed(names)}. Write a JSON object, {example}.") from error
    if not isinstance(value, Mapping) or any(name not in value for name in names):
        raise UserError(f"{value!r}: this model reads {listed(names)}. Give each by its name.")
    return value
