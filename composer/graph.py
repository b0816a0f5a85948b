"""The compiled model: nodes in order, run all at once for training or step by step for generation.

A graph follows the protocol of its blocks: ``outputs, state = graph(inputs, state)``, None in, None out. What depends
on nothing generated runs once, in ``start``; the rest streams. There is no encoder and no decoder here, only nodes.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from composer.block import Recipe, Reference
from composer.problems import UserError
from composer.signals import Field, Signal, State, Timed


@dataclass(frozen=True)
class Node:
    """A named block and the edges into it. The compiler's passes fill it in."""

    name: str
    recipe: Recipe | None  # None until the block is known
    sources: Any  # as the YAML has it; once wired, each port's sources: dict[str, tuple[str, ...]]
    predicts: str | None
    causal: bool
    path: str  # where it stands in the config
    sound: bool = False

    @property
    def inputs(self) -> tuple[str, ...]:
        """The nodes and fields on the other end of its edges."""
        return tuple(source for sources in self.sources.values() for source in sources)

    @property
    def reads(self) -> tuple[str, ...]:
        """All it needs to be built and run: its inputs, and the nodes whose weights it shares."""
        knobs = self.recipe.knobs.values() if self.recipe is not None else ()
        return (*self.inputs, *(str(value) for value in knobs if isinstance(value, Reference)))


@dataclass(frozen=True)
class Plan:
    """A proven graph without its modules."""

    nodes: tuple[Node, ...]
    inputs: dict[str, Field]  # what the graph reads
    targets: dict[str, Field]  # what its heads predict
    outputs: dict[str, Field]  # what every node gives
    generated: frozenset[str]  # the inputs that are predicted, too
    streams: frozenset[str]  # the nodes that depend on one of those


def run_node(node: Node, module: nn.Module, signals: Mapping[str, Signal]) -> Signal:
    """One node over whole sequences."""
    output, _ = _call(node, module, signals, None)
    return output


def _call(node: Node, module: nn.Module, signals: Mapping[str, Signal], state: State) -> tuple[Signal, State]:
    assert node.recipe is not None
    signature = node.recipe.signature
    args: list[Signal] = []
    ports: dict[str, Signal] = {}
    for port, sources in node.sources.items():
        if signature.ports[port].variadic:
            args.extend(signals[source] for source in sources)
        else:
            ports[port] = signals[sources[0]]
    if signature.stateful:
        return module(*args, state=state, **ports)
    return module(*args, **ports), state


class Graph(nn.Module):
    def __init__(self, plan: Plan, modules: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.plan = plan
        self.nodes = nn.ModuleDict(modules)

    @property
    def heads(self) -> list[Node]:
        return [node for node in self.plan.nodes if node.predicts is not None]

    @property
    def device(self) -> torch.device:
        return next((p.device for p in self.parameters()), torch.device("cpu"))

    def materialise(self, seed: int = 1, device: str | torch.device = "cpu") -> Graph:
        """A graph of the same plan with weights, the same for the same seed.

        Every node draws from a seed of its own, so that swapping one block leaves the others' weights as they were.
        """
        from composer.compiler.infer import build

        modules: dict[str, nn.Module] = {}
        with torch.random.fork_rng(devices=[]), torch.device(device):
            for node in self.plan.nodes:
                torch.manual_seed(zlib.crc32(f"{seed}/{node.name}".encode()))
                known = {name: self.plan.inputs.get(name) or self.plan.outputs[name] for name in node.inputs}
                modules[node.name] = build(node, self.plan.inputs | self.plan.targets, known, modules)
        return Graph(self.plan, modules)

    def forward(self, inputs: Mapping[str, Signal], state: State = None) -> tuple[dict[str, Signal], State]:
        """Every head's output, by its node's name. With a state, ``inputs`` are the next steps of what is generated."""
        signals = dict(inputs)
        if state is None:
            for node in self.plan.nodes:
                signals[node.name], _ = _call(node, self.nodes[node.name], signals, None)
            return {head.name: signals[head.name] for head in self.heads}, None
        signals |= state["once"]
        following: dict[str, State] = {}
        for node in self.plan.nodes:
            if node.name in self.plan.streams:
                signals[node.name], following[node.name] = _call(
                    node, self.nodes[node.name], signals, state["nodes"][node.name]
                )
        heads = {head.name: signals[head.name] for head in self.heads if head.name in self.plan.streams}
        return heads, {"once": state["once"], "nodes": following}

    def start(self, inputs: Mapping[str, Signal], batch: int | None = None) -> State:
        """Run what runs once, and begin the rest. ``inputs`` are the ones that are not generated."""
        if not self.plan.generated:
            raise UserError("This graph generates nothing: none of its heads predicts one of its inputs.")
        if batch is None:
            if not inputs:
                raise UserError("This graph reads nothing but what it generates: say how many rows to start.")
            batch = next(iter(inputs.values())).batch
        signals = dict(inputs)
        nodes: dict[str, State] = {}
        with torch.device(self.device):
            for node in self.plan.nodes:
                module = self.nodes[node.name]
                if node.name not in self.plan.streams:
                    signals[node.name], _ = _call(node, module, signals, None)
                else:
                    nodes[node.name] = self._start_node(node, module, signals, batch)
        needed = {name for node in self.plan.nodes if node.name in self.plan.streams for name in node.inputs}
        once = {name: signal for name, signal in signals.items() if name in needed}
        return {"once": once, "nodes": nodes}

    def _start_node(self, node: Node, module: Any, signals: Mapping[str, Signal], batch: int) -> State:
        assert node.recipe is not None
        signature = node.recipe.signature
        if not signature.stateful:
            return {}
        ports = {port: signals[node.sources[port][0]] for port in signature.once if port in node.sources}
        return module.start(batch, **ports)

    def losses(self, outputs: Mapping[str, Signal], targets: Mapping[str, Signal]) -> dict[str, Tensor]:
        """Each head's loss, one value a step or a row, zero in the padding."""
        modules: dict[str, Any] = dict(self.nodes.items())
        return {h.name: modules[h.name].loss(outputs[h.name], targets[str(h.predicts)]) for h in self.heads}

    def shifted(self, targets: Mapping[str, Signal]) -> dict[str, Signal]:
        """What the graph reads of what it generates: the same one step late, begun with <sos> or zeros."""
        return {name: _late(targets[name], self.plan.inputs[name]) for name in self.plan.generated}


def _late(signal: Signal, field: Field) -> Signal:
    assert isinstance(signal, Timed)
    values = torch.roll(signal.values, 1, dims=1)
    values[:, 0] = 0 if field.start is None else field.start
    return type(signal)(values, signal.lengths)
