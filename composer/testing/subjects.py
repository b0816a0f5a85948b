"""Subjects: blocks and graphs behind one interface, with example inputs, for the laws to test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

from composer.core.block import Recipe, Signature
from composer.core.capabilities import declared, is_causal
from composer.core.signals import KINDS, Contents, Field, Signal, State, Timed
from composer.core.streaming.block_steps import GraphStep
from composer.graph.graph import Graph, call_node
from composer.graph.nodes import GraphPlan, Node, build
from composer.graph.signal_flow.inputs import draw
from composer.objectives import Objective

#: The sizes of example signals, where neither ``dim`` nor the lengths determine them.
SIZES: dict[str, Any] = {"vocabulary": 7, "channels": 2, "height": 4, "width": 4, "steps": 4}
CONTENTS = Contents(
    tokens=tuple("abcdefg"),
    idf=(0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0),
    frequency=(0.4, 0.2, 0.15, 0.1, 0.1, 0.05, 0.0),
)

#: The number of different lengths that a graph's time axes have; more axes repeat them.
LENGTHS = 4


@dataclass(repr=False)
class Subject:
    """A block or a graph, and example inputs for it.

    streamed: the inputs that arrive step by step in streaming; the others are complete from the start
    made_by: the call that makes the subject again, shown if the subject breaks a law
    """

    name: str
    module: Any  # an nn.Module with the protocol's methods
    fields: dict[str, Field]
    inputs: dict[str, Signal]
    streamed: frozenset[str]
    stateful: bool
    causal: bool
    following: frozenset[str]  # the outputs with one step per streamed step
    made_by: str = ""
    scale: float = 1.0  # the size of the inputs; finite differences and low precision say nothing about large ones
    objective: Objective | None = None  # of a graph, where real data is at hand: the law ``causality`` then uses it

    def __repr__(self) -> str:
        return self.made_by or self.name

    def run(self, inputs: Mapping[str, Signal], state: State | None = None) -> tuple[dict[str, Signal], State | None]:
        raise NotImplementedError

    def start(self, inputs: Mapping[str, Signal]) -> State:
        raise NotImplementedError

    def stepper(self) -> GraphStep:
        """A function that computes one step of every row: inputs by name and a state to outputs by name and a state."""
        return self.graph.stepper()

    @property
    def graph(self) -> Graph:
        """The subject as a graph; a block becomes a graph with one node."""
        raise NotImplementedError

    @property
    def axis(self) -> Timed | None:
        """The first streamed input, for its time axis."""
        return next((s for name, s in self.inputs.items() if name in self.streamed and isinstance(s, Timed)), None)

    @property
    def heads(self) -> list[tuple[str, Field, Any]]:
        """For every head: the name of its output, the field that it predicts, and its module."""
        graph = self.graph
        return [(head.name, graph.plan.targets[str(head.predicts)], graph.nodes[head.name]) for head in graph.heads]


@dataclass(repr=False, kw_only=True)
class _Block(Subject):
    node: Node  # the block as a node that reads the fields

    def run(self, inputs: Mapping[str, Signal], state: State | None = None) -> tuple[dict[str, Signal], State | None]:
        output, state = call_node(self.node, self.module, inputs, state)
        return {self.node.name: output}, state

    def start(self, inputs: Mapping[str, Signal]) -> State:
        once = Signature.of(type(self.module)).once
        first = next(iter(inputs.values()))
        with torch.device(first.values.device):
            return self.module.start(first.batch, **{name: inputs[name] for name in once if name in inputs})

    def stepper(self) -> GraphStep:
        step, name = super().stepper(), self.node.name
        once = {key: signal for key, signal in self.inputs.items() if key not in self.streamed}

        def of_block(values: Mapping[str, torch.Tensor], state: State) -> tuple[dict[str, torch.Tensor], State]:
            outputs, after = step(values, {"once": once, "nodes": {name: state}})
            return outputs, after["nodes"][name]

        return of_block

    @property
    def graph(self) -> Graph:
        output = Field.of(self.run(self.inputs)[0][self.node.name])
        fields = {
            name: replace(field, axis="streamed" if name in self.streamed else "whole")
            for name, field in self.fields.items()
        }
        targets: dict[str, Field] = {}
        if (target := Signature.of(type(self.module)).target) is not None:
            kind = next((kind for kind in target.kinds if KINDS[kind].timed == output.timed), target.kinds[0])
            targets["target"] = Field(kind, dim=3, vocabulary=SIZES["vocabulary"])
        plan = GraphPlan(
            (self.node,), fields, targets, {self.node.name: output}, self.streamed, frozenset({self.node.name})
        )
        return Graph(plan, {self.node.name: self.module})


class _Graph(Subject):
    def run(self, inputs: Mapping[str, Signal], state: State | None = None) -> tuple[dict[str, Signal], State | None]:
        return self.module(inputs if state is None else {n: s for n, s in inputs.items() if n in self.streamed}, state)

    def start(self, inputs: Mapping[str, Signal]) -> State:
        once = {name: signal for name, signal in inputs.items() if name not in self.streamed}
        return self.module.start(once, next(iter(self.inputs.values())).batch)

    @property
    def graph(self) -> Graph:
        return self.module


def subject(
    block: type[nn.Module] | Recipe,
    *,
    dim: int = 4,
    causal: bool = True,
    batch: int = 3,
    time: int = 5,
    lengths: Sequence[int] | None = None,
    memory_lengths: Sequence[int] | None = None,
    ports: Mapping[str, str | None] | None = None,
    seed: int = 0,
    scale: float = 1.0,
    **knobs: Any,
) -> Subject:
    """A built block and example inputs, all in float64.

    scale: the size of the inputs' real values; large ones close gates and saturate functions
    lengths: the real steps of each row (ragged by default)
    ports: the kind of signal for a port that takes several kinds; None leaves an optional port out
    knobs: arguments of the constructor, which replace those of the block's ``example``
    """
    if not isinstance(block, Recipe):
        block = Recipe("", block.__name__, block, {**declared(block, "example"), **knobs}, "")
    recipe = replace(block, kind="")  # a mixer that is always causal is not made bidirectional
    signature = recipe.signature
    if signature.inner:
        raise ValueError(f"{recipe.name} acts only inside another block: put the one that holds it to the laws.")
    fields: dict[str, Field] = {}
    sources: dict[str, tuple[str, ...]] = {}
    for name, port in signature.ports.items():
        kind = (ports or {}).get(name, port.kinds[0])
        if kind is None:
            continue
        width = dim if port is signature.first or name in ("initial", "prefix") else dim + 1
        sources[name] = (f"{name}.0", f"{name}.1") if port.variadic else (name,)
        fields |= {source: _field(kind, width) for source in sources[name]}
    predicts = "target" if signature.target is not None else None
    node = Node(recipe.name, recipe, sources, predicts, causal, recipe.path, sound=True)
    torch.manual_seed(seed)
    module = build(node, fields | {"target": _field("", 3)}, {}).double().eval()
    lengths = list(lengths) if lengths is not None else [max(1, time - 2 * row) for row in range(batch)]
    memory_lengths = memory_lengths or [max(1, 4 - row) for row in range(batch)]
    whole = {"memory", *signature.once}  # inputs that are complete from the start
    inputs = {
        name: example(field, memory_lengths if name in whole else lengths, seed=seed + index, scale=scale)
        for index, (name, field) in enumerate(fields.items(), start=1)
    }
    streamed = frozenset(name for name, field in fields.items() if field.timed and name not in whole)
    sizes = {"dim": dim, "causal": causal, "lengths": lengths, "memory_lengths": memory_lengths, "seed": seed}
    made_by = _call(recipe, sizes | ({"scale": scale} if scale != 1 else {}), ports or {})
    return _Block(
        recipe.name, module, fields, inputs, streamed, signature.stateful, is_causal(module), frozenset({node.name}),
        made_by, scale, node=node,
    )  # fmt: skip


def _call(recipe: Recipe, sizes: dict[str, Any], ports: Mapping[str, str | None]) -> str:
    """The call of ``subject`` that makes a block's subject again, without arguments that do not affect the block."""
    signature = recipe.signature
    pointless = set() if "causal" in signature.facts else {"causal"}
    pointless |= set() if {"memory", *signature.once} & set(signature.ports) else {"memory_lengths"}
    chosen = {name: kind for name, kind in ports.items() if kind != signature.ports[name].kinds[0]}
    given = recipe.knobs | {name: value for name, value in sizes.items() if name not in pointless}
    arguments = [f"{name}={_shown(value)}" for name, value in (given | ({"ports": chosen} if chosen else {})).items()]
    return f"subject({', '.join([recipe.block.__name__, *arguments])})"


def _shown(value: Any) -> str:
    """A knob's value in a call; a block in a slot is written as in YAML."""
    if not isinstance(value, Recipe):
        return repr(value)
    knobs = "".join(f", {name}: {_shown(knob)}" for name, knob in value.knobs.items())
    return f"{{type: {value.name}{knobs}}}"


def _field(kind: str, width: int) -> Field:
    """A field of example sizes. The channel names of a narrower field are the first ones of a wider field."""
    contents = replace(CONTENTS, names=tuple(f"channel {place}" for place in range(width)))
    return Field(kind, dim=width, **SIZES, contents=contents)


def graph_subject(
    graph: Graph, *, batch: int = 3, time: int = 6, seed: int = 0, objective: Objective | None = None
) -> Subject:
    """A graph with initialised weights, converted to float64, and ragged example inputs.

    objective: of the graph's fields; the law ``causality`` then searches real data for leaks, too
    """
    module = graph.double().eval()
    plan = graph.plan
    # The steps of all generated inputs are read together, so that their sequences have the same lengths.
    axes = {name: field.axis or name for name, field in plan.inputs.items()}
    together = {axes[name] for name in plan.generated}
    axes = {name: "" if axis in together else axis for name, axis in axes.items()}
    lengths = {
        axis: [max(1, time + number % LENGTHS - 2 * row) for row in range(batch)]
        for number, axis in enumerate(sorted(set(axes.values())))
    }
    inputs = {
        name: example(field, lengths[axes[name]], seed=seed + index)
        for index, (name, field) in enumerate(plan.inputs.items())
    }
    streams, following = bool(plan.generated), frozenset(h.name for h in graph.heads if h.name in plan.streams)
    made_by = f"graph_subject(graph, batch={batch}, time={time}, seed={seed})"
    return _Graph(
        "graph", module, plan.inputs, inputs, plan.generated, streams, streams, following, made_by, objective=objective
    )


def example(field: Field, lengths: Sequence[int], seed: int, scale: float = 1.0) -> Signal:
    """A random signal of a field's kind and sizes, on the CPU in float64."""
    generator = torch.Generator().manual_seed(seed)
    return draw(field, torch.tensor(list(lengths)), generator, dtype=torch.float64, scale=scale)
