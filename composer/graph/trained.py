"""The graph of another run inside a block: its layers as features of the same text.

A block whose constructor has a knob of type ``TrainedGraph`` takes in the graph of another run. In the YAML, the knob
is the path of the run; before the compilation, the path is replaced by the nodes and fields of that run's graph, which
the checkpoint keeps, so that the other run is not needed any more. ``TrainedLayers`` runs the part of the graph that
computes the layers of its stacks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from composer.core.block import Signature, alternatives, walk
from composer.core.capabilities import declared, is_causal
from composer.core.meta import on_meta
from composer.core.problems import ConfigError, Invalid, did_you_mean, listed
from composer.core.recording import watch_layers
from composer.core.signals import Contents, Field, Ids, Seq, State
from composer.core.streaming.block_steps import refuse_to_stream
from composer.core.streaming.streaming_copy import original
from composer.graph.compiler import compile_graph
from composer.graph.graph import Graph
from composer.graph.nodes import Node

#: The attributes of a field that a graph may need to be compiled, as plain data. The others, such as the vocabulary's
#: tokens, are kept only if a block asks for them.
SIZES = ("kind", "dim", "vocabulary", "channels", "height", "width", "start", "stop", "blank", "axis", "steps")
LISTS = ("tokens", "idf", "frequency", "names", "fixed")

#: The length of the example on which the layers are counted.
EXAMPLE = 5


@dataclass(frozen=True)
class TrainedStack:
    """A stack of another run's graph, and how a text becomes its input.

    field: the field of the other run's graph that it reads
    copies: the field of the other run's data that this field is made of
    reversed: whether the field is the text read backwards
    start: the token before the first one, where the stack was trained to predict the next token; None where it was not
    closed: whether a text may have this token at its other end: read backwards, a text that ends with <eos> begins so
    """

    name: str
    field: str
    copies: str
    reversed: bool
    start: int | None
    closed: bool


@dataclass(frozen=True)
class TrainedGraph:
    """The graph of another run, as plain data.

    path: the run's folder or its checkpoint
    nodes: the nodes of its config
    fields: the fields of its objective: kind and sizes, with the keys ``copies`` (the field of the data that a field is
        made of) and ``reversed``
    """

    path: str | None = None
    nodes: dict[str, Any] | None = None
    fields: dict[str, Any] | None = None

    @classmethod
    def of(
        cls, path: str, nodes: Mapping[str, Any], fields: Mapping[str, Field], copies: Mapping[str, str],
        reversed_fields: frozenset[str],
    ) -> TrainedGraph:  # fmt: skip
        """
        copies: the field of the data that each field is made of
        """
        graph = compile_graph(nodes, fields)
        facts = {fact for node in graph.plan.nodes for recipe in walk(node.recipe) for fact in recipe.signature.facts}
        kept = [*SIZES, *(name for name in LISTS if any(fact.endswith(name) for fact in facts))]
        described = {}
        for name, field in fields.items():
            values = {key: field.fact(key) for key in kept}
            plain = {key: list(v) if isinstance(v, tuple) else v for key, v in values.items() if v is not None}
            described[name] = plain | {"copies": copies.get(name, name), "reversed": name in reversed_fields}
        return cls(path, dict(nodes), described)

    def plain(self) -> dict[str, Any]:
        return {"path": self.path, "nodes": self.nodes, "fields": self.fields}

    def compile(self) -> Graph:
        """The other run's graph, on the meta device."""
        if not self.nodes or not self.fields:
            raise Invalid("run", "expected the folder or the checkpoint of the run whose graph to read.")
        try:
            return compile_graph(self.nodes, {name: self._field(name) for name in self.fields})
        except ConfigError as error:
            first = error.problems[0]
            what = f"{first.path.removeprefix('model.')}: {first.message}"
            raise Invalid("run", f"the graph of '{self.path}' does not compile here: {what}") from error

    def _field(self, name: str) -> Field:
        described: dict[str, Any] = (self.fields or {})[name]
        lists: dict[str, Any] = {key: tuple(described[key]) for key in LISTS if key in described}
        return Field(**{key: described[key] for key in SIZES if key in described}, contents=Contents(**lists))

    def stacks(self, graph: Graph, wanted: Sequence[str] | None = None) -> list[TrainedStack]:
        """The stacks whose layers are read: the wanted ones, or those that the graph leaves no choice about.

        A stack can be read if it depends on one field alone, of token ids. Without a wish, this is the only such stack
        that no other one reads; or two, of which one reads the text backwards.
        """
        found = {name: stack for name in graph.nodes if (stack := self._stack(graph, name)) is not None}
        if not found:
            have = listed(graph.nodes)
            raise Invalid("run", f"no stack of '{self.path}' reads one field of token ids alone.  (its nodes: {have})")
        choices = f"(stacks that can be read: {listed(found)})"
        if wanted is None:
            inside = {node.name for name in found for node in graph.plan.ancestors(name) if node.name != name}
            last = [stack for name, stack in found.items() if name not in inside]
            directions = {stack.reversed for stack in last}
            if len(last) != len(directions) or len({stack.copies for stack in last}) > 1:
                raise Invalid("read", f"'{self.path}' has several stacks; name those whose layers to read.  {choices}")
            return last
        for name in wanted:
            if name not in found:
                what = "depends on more than one field, or is no stack" if name in graph.nodes else "does not exist"
                hint = did_you_mean(name, found)
                raise Invalid("read", f"the node '{name}' of '{self.path}' {what}.{hint}  {choices}")
        chosen = [found[name] for name in wanted]
        if not chosen or len(set(wanted)) < len(wanted):
            raise Invalid("read", f"expected one or more stacks, each once, found {list(wanted)}.  {choices}")
        if len({stack.copies for stack in chosen}) > 1:
            texts = listed(f"{stack.name} reads '{stack.copies}'" for stack in chosen)
            raise Invalid("read", f"the stacks read different texts ({texts}). Use a node of its own for each.")
        return chosen

    def _stack(self, graph: Graph, name: str) -> TrainedStack | None:
        reads = graph.reads(name)
        if declared(graph.nodes[name], "shows") != "layers" or len(reads) != 1 or not graph.plan.outputs[name].timed:
            return None
        (field,) = reads
        described = (self.fields or {})[field]
        if described["kind"] != "ids":
            return None
        token, backwards = described.get("start"), bool(described.get("reversed"))
        start = (token or 0) if field in graph.plan.generated else None  # 0 is what ``Graph.shifted`` puts first, too
        closed = backwards and token is not None
        return TrainedStack(name, field, described.get("copies", field), backwards, start, closed)


def graph_knob(block: type[nn.Module]) -> str | None:
    """The knob of a block that takes the graph of another run; None if it has none."""
    knobs = Signature.of(block).knobs.values()
    return next((knob.name for knob in knobs if TrainedGraph in alternatives(knob.type)), None)


class TrainedLayers(nn.Module):
    """The part of another run's graph that computes the layers of some of its stacks.

    widths: of the layers of each stack
    count: the number of layers of each stack, with its input as the first
    vocabulary: the number of tokens that the graph knows
    causal: whether a layer's step depends on no later step of the text
    limit: the longest text that the graph can read; None if it has no limit
    """

    def __init__(self, trained: TrainedGraph, read: Sequence[str] | None, *, frozen: bool) -> None:
        super().__init__()
        meta = trained.compile()
        self.stacks = trained.stacks(meta, read)
        names = [stack.name for stack in self.stacks]
        self.graph = _part(meta, names)
        self.vocabulary = min(int(meta.plan.inputs[stack.field].vocabulary or 0) for stack in self.stacks)
        self.causal = not any(stack.reversed for stack in self.stacks) and all(
            _one_way(node, self.graph) for node in self.graph.plan.nodes
        )
        limits = [limit for part in self.graph.modules() if (limit := declared(part, "limit")) is not None]
        self.limit = min(limits) - any(stack.start is not None for stack in self.stacks) if limits else None
        self.widths, self.count = self._measure()
        device = torch.get_default_device()
        if device.type != "meta":
            self.graph = self.graph.materialise(device=device)
        self.frozen = frozen
        self.graph.requires_grad_(not frozen)
        self.train(self.training)

    def train(self, mode: bool = True) -> TrainedLayers:
        """A frozen graph is always in evaluation mode (no dropout)."""
        super().train(mode)
        if self.frozen:
            self.graph.eval()
        return self

    def _measure(self) -> tuple[list[int], int]:
        with on_meta(), torch.no_grad():
            read, _ = self(Ids(torch.zeros(2, EXAMPLE, dtype=torch.long)))
        for stack, layers in zip(self.stacks, read, strict=True):
            if any(layer.time != EXAMPLE for layer in layers):
                raise Invalid("read", f"the steps of '{stack.name}' are not those of the text that it reads.")
        counts = {stack.name: len(layers) - 1 for stack, layers in zip(self.stacks, read, strict=True)}
        if len(set(counts.values())) > 1:
            raise Invalid("read", f"the stacks have different numbers of layers: {counts}. Read one of them.")
        return [layers[0].dim for layers in read], len(read[0])

    def start(self, batch: int) -> State:
        if not self.causal:
            refuse_to_stream(self)
        return {stack.name: self._start(stack, batch) for stack in self.stacks}

    def _start(self, stack: TrainedStack, batch: int) -> State:
        state = self.graph.start({}, batch, stack.name)
        return state if stack.start is None else self._run(stack, Ids(torch.full((batch, 1), stack.start)), state)[1]

    def forward(self, x: Ids, state: State | None = None) -> tuple[list[list[Seq]], State | None]:
        """The layers of every stack, (B, T, D) each, along the steps of the text."""
        if state is None:
            return [self._read(stack, x) for stack in self.stacks], None
        found, following = [], {}
        for stack in self.stacks:
            layers, following[stack.name] = self._run(stack, x, state[stack.name])
            found.append(layers)
        return found, following

    def _read(self, stack: TrainedStack, x: Ids) -> list[Seq]:
        """The layers over a whole text. The vector of a token is that of the state after the token was read."""
        x = Ids(x.filled(0), x.lengths)
        x = x.reversed() if stack.reversed else x
        if stack.start is None:
            layers = self._run(stack, x, None)[0]
        elif stack.closed:
            layers = self._read_closed(stack, x)
        else:
            layers = [layer.steps(1, x.time + 1) for layer in self._run(stack, _begun(x, stack.start), None)[0]]
        return [layer.reversed() for layer in layers] if stack.reversed else layers

    def _read_closed(self, stack: TrainedStack, x: Ids) -> list[Seq]:
        """The layers over a reversed text. A row that begins with the start token gets no second one."""
        assert stack.start is not None
        begins = (x.values[:, :1] == stack.start) & (x.counts[:, None] > 0)  # (B, 1)
        longer = _begun(x, stack.start)
        as_is = torch.cat([x.values, torch.zeros_like(x.values[:, :1])], dim=1)
        fed = Ids(torch.where(begins, as_is, longer.values), x.counts + ~begins[:, 0])
        layers = self._run(stack, fed, None)[0]
        both = ((layer.values[:, :-1], layer.values[:, 1:]) for layer in layers)
        return [Seq(torch.where(begins[..., None], early, late), x.lengths) for early, late in both]

    def _run(self, stack: TrainedStack, x: Ids, state: State | None) -> tuple[list[Seq], Any]:
        with watch_layers() as seen:
            if state is None:
                self.graph.run({stack.field: x}, to=stack.name)
            else:
                _, state = self.graph({stack.field: x}, state)
        return seen[original(self.graph.nodes[stack.name])], state


def _begun(x: Ids, start: int) -> Ids:
    """The text after a start token."""
    first: Tensor = torch.full_like(x.values[:, :1], start)
    return Ids(torch.cat([first, x.values], dim=1), None if x.lengths is None else x.lengths + 1)


def _part(graph: Graph, names: Sequence[str]) -> Graph:
    """The nodes that some nodes depend on, and those whose weights they share; all fields arrive step by step."""
    wanted = set(names)
    for node in reversed(graph.plan.nodes):
        if node.name in wanted:
            wanted.update(node.reads)
    nodes = tuple(node for node in graph.plan.nodes if node.name in wanted)
    inside = {node.name: graph.nodes[node.name] for node in nodes}
    plan = replace(graph.plan, nodes=nodes, generated=frozenset(graph.plan.inputs), streams=frozenset(inside))
    return Graph(plan, inside)


def _one_way(node: Node, graph: Graph) -> bool:
    """Whether a step of a node's output depends on no later step of what the node reads."""
    first = node.recipe.signature.first.name
    return is_causal(graph.nodes[node.name]) and graph.plan.outputs[node.name].timed and set(node.sources) == {first}
