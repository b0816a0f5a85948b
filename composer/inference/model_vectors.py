"""Vectors of a trained model: hidden states of texts, and embeddings of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from composer.core.capabilities import offers
from composer.core.problems import UserError, did_you_mean, listed
from composer.core.signals import Field, Seq, Signal, Timed, Vec
from composer.graph.graph import Graph
from composer.inference.typed_rows import encoded, typed_columns
from composer.objectives import Objective

Pool = Literal["mean", "last"]


def default_node(graph: Graph) -> str:
    """The last node before the heads that depends on no generated field; for a language model, the last node."""
    heads = {head.name for head in graph.heads}
    inner = [node.name for node in graph.plan.nodes if node.name not in heads]
    found = [name for name in inner if name not in graph.plan.streams] if graph.plan.given else inner
    found = [name for name in found if graph.plan.outputs[name].kind in ("seq", "vec")]
    if not found:
        raise UserError(
            f"no node of this model makes a vector of {listed(graph.plan.given)} alone: what there is depends on what "
            "is generated."
        )
    return found[-1]


@torch.inference_mode()
def hidden(graph: Graph, signals: Mapping[str, Signal], node: str) -> Signal:
    """A node's output, computed by the nodes it depends on. A generated sequence is read including its last step."""
    names = [other.name for other in graph.plan.nodes]
    if node not in names:
        raise UserError(f"there is no node '{node}'.{did_you_mean(node, names)}  (nodes: {listed(names)})")
    read = graph.reads(node)
    missing = sorted(read - signals.keys())
    if missing:
        raise UserError(f"'{node}' reads {listed(missing)}, which is not given. Choose a node that does not.")
    inputs: dict[str, Signal] = dict(signals)
    if read & graph.plan.generated:
        inputs |= graph.shifted({name: _with_one_more_step(inputs[name]) for name in graph.plan.generated})
    return graph.run(inputs, node)[node]


def _with_one_more_step(signal: Signal) -> Signal:
    """A sequence with one more step, so that the shift by one step does not drop its last real step."""
    assert isinstance(signal, Timed)
    values = torch.cat([signal.values, torch.zeros_like(signal.values[:, :1])], dim=1)
    return type(signal)(values, signal.counts + 1)


def embed(graph: Graph, objective: Objective, rows: str | Sequence[Any], node: str | None, pool: Pool) -> Tensor:
    """(B, D), a node's output for every row; for a sequence, its mean over time or its last step."""
    if pool not in ("mean", "last"):
        raise UserError(f"pool: '{pool}' is neither mean nor last.")
    signals = encoded(typed_columns(graph, objective, rows), graph, objective)
    found = hidden(graph, signals, node or default_node(graph))
    if isinstance(found, Vec):
        return found.values.clone()
    if not isinstance(found, Seq):
        raise UserError(f"'{node}' gives {found.kind}, not vectors. Choose another node.")
    if pool == "last":
        return found.values[torch.arange(found.batch), found.counts - 1].clone()
    return found.filled().sum(1) / found.counts[:, None]


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """The vectors of a node that embeds tokens, (V, D), and the field of these tokens."""

    node: str
    name: str
    field: Field
    weight: Tensor

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.field.contents.tokens or ()

    @property
    def special(self) -> tuple[int | None, ...]:
        return (self.field.start, self.field.stop, self.field.blank, *self.field.contents.special)

    @property
    def title(self) -> str:
        return f"{self.node}, tokens of '{self.name}'"

    @cached_property
    def unit(self) -> Tensor:
        """The vectors, scaled to unit length."""
        return functional.normalize(self.weight.detach().float(), dim=1)

    def place(self, token: str) -> int:
        if token not in self.tokens:
            raise UserError(f"'{self.name}' has no token '{token}'.{did_you_mean(token, self.tokens)}")
        return self.tokens.index(token)

    def neighbours(self, token: str, count: int, without: Sequence[int | None] = ()) -> list[tuple[str, float]]:
        """The tokens with the most similar vectors, each with its cosine similarity, except those of ``without``."""
        place = self.place(token)
        return self._nearest(self.unit[place], count, (place, *without))

    def analogous(
        self, a: str, b: str, c: str, count: int, without: Sequence[int | None] = ()
    ) -> list[tuple[str, float]]:  # fmt: skip
        """The answers to a : b :: c : ?, the tokens nearest to b - a + c, each with its cosine similarity.

        Vectors are first scaled to unit length (Mikolov et al., 2013). The tokens a, b, c and those of ``without`` are
        excluded.
        """
        places = [self.place(token) for token in (a, b, c)]
        first, second, third = self.unit[places]
        return self._nearest(functional.normalize(second - first + third, dim=0), count, (*places, *without))

    def frequent(self, count: int, without: Sequence[int | None] = ()) -> list[int]:
        """The most frequent tokens of the training split."""
        idf, plain = self.field.contents.idf, [i for i in range(len(self.tokens)) if i not in without]
        return (plain if idf is None else sorted(plain, key=lambda i: idf[i]))[:count]

    def _nearest(self, vector: Tensor, count: int, without: Sequence[int | None]) -> list[tuple[str, float]]:
        alike = self.unit @ vector
        alike[[other for other in without if other is not None]] = -torch.inf
        best = alike.topk(min(count, int((alike > -torch.inf).sum())))
        return [(self.tokens[i], value) for i, value in zip(best.indices.tolist(), best.values.tolist(), strict=True)]


def token_vectors(graph: Graph) -> list[TokenVectors]:
    """The vectors of every node that embeds tokens. A matrix that several nodes share (tied weights) is listed once."""
    found: list[TokenVectors] = []
    for node in graph.plan.nodes:
        name, module = node.inputs[0], graph.nodes[node.name]
        field = graph.plan.inputs.get(name)
        weight = module.weight if offers(module, "weight") else None
        if field is None or field.kind != "ids" or not isinstance(weight, Tensor) or weight.dim() != 2:
            continue
        if len(weight) == field.vocabulary and all(weight is not other.weight for other in found):
            found.append(TokenVectors(node.name, name, field, weight))
    return found
