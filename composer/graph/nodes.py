"""The nodes of a graph and their edges, without their modules; and ``build``, which makes a node's module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from composer.core.block import Recipe, Reference
from composer.core.problems import Invalid
from composer.core.signals import Field
from composer.graph.combinators.bidirectional import directed


@dataclass(frozen=True)
class Node:
    """A named block and the edges into it. The compiler's passes fill in its attributes one after another."""

    name: str
    bound: Recipe | None  # None until the block is known
    sources: Any  # at first as in the YAML; after the pass ``wire``, each port's sources: dict[str, tuple[str, ...]]
    predicts: str | None
    causal: bool
    path: str  # the node's path in the config
    sound: bool = False  # whether the pass ``wire`` found no problem with the node
    weight: float = 1.0  # of a head's loss in the sum of all heads' losses
    late: frozenset[str] = frozenset()  # the sources of a head that it reads one step late: see the pass ``split``

    @property
    def recipe(self) -> Recipe:
        """The block of a node that is sound."""
        assert self.bound is not None
        return self.bound

    @property
    def inputs(self) -> tuple[str, ...]:
        """The nodes and fields that the node reads through its ports."""
        return tuple(source for sources in self.sources.values() for source in sources)

    @property
    def reads(self) -> tuple[str, ...]:
        """All nodes and fields that have to exist first: the node's inputs, and the nodes whose weights it shares."""
        knobs = self.bound.knobs.values() if self.bound is not None else ()
        return (*self.inputs, *(str(value) for value in knobs if isinstance(value, Reference)))


@dataclass(frozen=True)
class GraphPlan:
    """A graph that passed the compiler, without its modules."""

    nodes: tuple[Node, ...]
    inputs: dict[str, Field]  # the fields that the graph reads
    targets: dict[str, Field]  # the fields that its heads predict
    outputs: dict[str, Field]  # the output of every node
    generated: frozenset[str] = frozenset()  # the inputs that a head predicts step by step (autoregressively)
    streams: frozenset[str] = frozenset()  # the nodes that depend on a generated input

    @property
    def given(self) -> dict[str, Field]:
        """The inputs that the graph does not generate."""
        return {name: field for name, field in self.inputs.items() if name not in self.generated}

    def ancestors(self, *names: str) -> tuple[Node, ...]:
        """The nodes that some nodes depend on, and these nodes themselves, in topological order."""
        wanted = set(names)
        for node in reversed(self.nodes):
            if node.name in wanted:
                wanted.update(node.inputs)
        return tuple(node for node in self.nodes if node.name in wanted)


def build(node: Node, known: Mapping[str, Field], modules: Mapping[str, nn.Module]) -> nn.Module:
    """The node's module. Its facts are the sizes of its inputs and of the field that it predicts."""
    recipe: Recipe = directed(node.recipe.resolve(modules), node.causal)
    signature = recipe.signature
    facts: dict[str, Any] = {}
    for fact in signature.facts:
        if fact == "causal":
            facts[fact] = node.causal
            continue
        port, size = signature.source(fact)
        if port in node.sources:
            source = node.sources[port][0]
        elif port == "target" and node.predicts is not None:
            source = node.predicts
        else:
            continue
        facts[fact] = known[source].fact(size)
        if facts[fact] is None and not signature.facts[fact]:
            key = "predicts" if port == "target" else "from"
            raise Invalid(key, f"'{recipe.name}' has to know the {size} of '{source}', which is not known.")
    return recipe.build(**facts)
