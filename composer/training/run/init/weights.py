"""The tensors that nodes take from another run, checked against the shapes of the compiled graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from composer.core.problems import Report, listed
from composer.core.signals import Field
from composer.graph.graph import Graph
from composer.training.run.init.fields import FieldPair, first_difference
from composer.training.run.init.pretrained import Pretrained

Shape = tuple[int, ...]


@dataclass
class Matching:
    """Finds the tensor of the other run for every tensor of the nodes that are taken.

    The vocabularies of both runs may differ in tokens at their end, such as the [MASK] that an objective adds: then the
    rows of the tokens that both have are taken, and the other rows stay as they were initialised.

    fields: the fields that the graph is compiled for
    pairs: the fields that the taken nodes read or predict, in both runs
    ours: the configs of this run's nodes
    partial: whether a node may take some of its weights only
    report: receives the problems
    taken: the taken tensors, by their full names in this run
    """

    meta: Graph
    origin: Pretrained
    fields: Mapping[str, Field]
    pairs: Sequence[FieldPair]
    ours: Mapping[str, Any]
    partial: bool
    report: Report
    taken: dict[str, Tensor] = field(default_factory=dict)

    def take(self, nodes: Sequence[tuple[str, str]]) -> dict[str, Tensor]:
        for theirs, ours in nodes:
            differences = [found for pair in self.pairs if pair.node == ours and (found := self._difference(pair))]
            for difference in differences:
                self.report.add(f"model.nodes.{ours}", difference)
            if not differences:
                self._take_node(theirs, ours)
        self._check_tied()
        return self.taken

    def _difference(self, pair: FieldPair) -> str | None:
        """How a field of another kind, or one in which a token has another number, is reported."""
        there, here = self._fields(pair)
        if there is None or here is None:
            return None
        what = f"{'reads' if pair.reads else 'predicts'} '{pair.ours}'"
        if there.kind != here.kind:
            return (
                f"{what}, of kind {here.kind}, but in '{self.origin.given}' it is of kind {there.kind}. Do not take "
                "this node."
            )
        if (differs := first_difference(there, here)) is None:
            return None
        place, theirs, ours = differs
        return (
            f"{what}, whose token {place} is {ours!r}, but in '{self.origin.given}' it is {theirs!r}, so the weights "
            "would mean something else. Let the vocabulary come along (init.fields=null), or do not take this node."
        )

    def _fields(self, pair: FieldPair) -> tuple[Field | None, Field | None]:
        """A field in the other run and in this one, where each is known."""
        objective = self.origin.objective
        return objective.fields.get(pair.theirs) if objective is not None else None, self.fields.get(pair.ours)

    def _take_node(self, theirs: str, ours: str) -> None:
        mine, given = self.meta.nodes[ours].state_dict(), self.origin.nodes[theirs]
        common = [name for name in mine if name in given]
        lacking, extra = [n for n in mine if n not in given], [n for n in given if n not in mine]
        differ = [n for n in common if not self._fits(ours, tuple(given[n].shape), tuple(mine[n].shape))]
        complaints = [f"'{n}' is {_shown(mine[n])} here and {_shown(given[n])} there" for n in differ[:3]]
        complaints += [f"{len(differ) - 3} more differ"] if len(differ) > 3 else []
        if not common or not self.partial:
            complaints += [f"there is no {listed(lacking, 3)} there"] if lacking else []
            complaints += [f"there is no {listed(extra, 3)} here"] if extra else []
        if complaints:
            hint = self._differences(theirs, ours)
            allowed = " Or set init.partial=true to take what both have." if common and not differ else ""
            found = f"cannot take the weights of '{theirs}' of '{self.origin.given}': {'; '.join(complaints)}."
            self.report.add(f"model.nodes.{ours}", f"{found}{hint}{allowed}")
            return
        self.taken |= {f"nodes.{ours}.{name}": given[name] for name in common}

    def _fits(self, node: str, there: Shape, here: Shape) -> bool:
        """Whether a tensor can be taken: of the same shape, or with a row for each token of two vocabularies."""
        if there == here:
            return True
        if not there or not here or there[1:] != here[1:]:
            return False
        both = [self._fields(pair) for pair in self.pairs if pair.node == node]
        tokens = [
            (one.contents.tokens, other.contents.tokens) for one, other in both if one is not None and other is not None
        ]
        return any(a is not None and b is not None and (len(a), len(b)) == (there[0], here[0]) for a, b in tokens)

    def _differences(self, theirs: str, ours: str) -> str:
        """The settings of a node that differ between the runs."""
        there, here = self.origin.node_configs.get(theirs, {}), self.ours.get(ours, {})
        keys = [
            key for key in there if key in here and key != "from" and _plain(there[key]) and there[key] != here[key]
        ]
        said = [f"{key}: {there[key]}, here {here[key]}" for key in keys[:4] if _plain(here[key])]
        return f" There it has {'; '.join(said)}." if said else ""

    def _check_tied(self) -> None:
        """Report weights that nodes of this run share, but for which their nodes in the other run have two values."""
        shared: dict[nn.Parameter, str] = {}
        for name, parameter in self.meta.named_parameters(remove_duplicate=False):
            if name not in self.taken:
                continue
            first = shared.setdefault(parameter, name)
            if first != name and not _equal(self.taken[first], self.taken[name]):
                one, other = (full.split(".")[1] for full in (first, name))
                self.report.add(
                    f"model.nodes.{other}",
                    f"shares weights with '{one}' here, but in '{self.origin.given}' they are two. Take one of the "
                    "nodes, or do not tie them.",
                )


def load_taken(graph: Graph, taken: Mapping[str, Tensor]) -> None:
    """Copy the taken tensors into a graph. Rows of tokens that only one of the runs has are left alone."""
    own = graph.state_dict()
    with torch.no_grad():
        for name, tensor in taken.items():
            rows = min(len(tensor), len(own[name])) if tensor.dim() else None
            target = own[name] if rows is None else own[name][:rows]
            target.copy_(tensor if rows is None else tensor[:rows])


def _equal(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.equal(one, other)


def _shown(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"


def _plain(value: object) -> bool:
    """Whether a setting can decide shapes: a size or a name, and not a rate such as dropout."""
    return isinstance(value, int | str)
