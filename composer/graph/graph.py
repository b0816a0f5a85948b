"""The compiled model: nodes in order, run all at once for training or step by step for generation.

A graph follows the protocol of its blocks: ``outputs, state = graph(inputs, state)``, None in, None out. What depends
on nothing generated runs once, in ``start``; the rest streams. There is no encoder and no decoder here, only nodes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from composer.core.capabilities import said
from composer.core.problems import UserError, did_you_mean, listed
from composer.core.signals import KINDS, Field, Signal, State, Timed
from composer.core.streaming import GraphStep, Step, has_own_step, pointwise_step, state_step
from composer.core.streaming_copy import streaming_copy
from composer.core.target import Target
from composer.graph.nodes import GraphPlan, Node, build


def run_node(node: Node, module: nn.Module, signals: Mapping[str, Signal]) -> Signal:
    """One node over whole sequences."""
    output, _ = _call(node, module, signals, None)
    return output


def _call(node: Node, module: nn.Module, signals: Mapping[str, Signal], state: State | None) -> tuple[Signal, Any]:
    """One node over the next steps from a state, or over whole sequences without one: the output, and what follows."""
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


def _advance(
    node: Node, module: Any, plan: GraphPlan
) -> Callable[[dict[str, Tensor], dict[str, Signal], State], State]:
    """A function that puts a node's next step beside those of the others, (B, D), and returns its next state."""
    assert node.recipe is not None
    name, signature = node.name, node.recipe.signature
    moving = [source for source in node.inputs if source in plan.generated or source in plan.streams]
    first, *others = node.sources
    if has_own_step(module) and moving == list(node.sources[first]) and set(others) <= set(signature.once):
        source = moving[0]
        if not signature.stateful:
            return _pointwise(name, source, pointwise_step(module))
        step = state_step(module)

        def advance(values: dict[str, Tensor], once: dict[str, Signal], state: State) -> State:
            values[name], state = step(values[source], state)
            return state

        return advance
    kinds: dict[str, Any] = {source: KINDS[(plan.inputs.get(source) or plan.outputs[source]).kind] for source in moving}

    def chunk(values: dict[str, Tensor], once: dict[str, Signal], state: State) -> State:
        signals = once | {source: kind(values[source][:, None]) for source, kind in kinds.items()}
        output, state = _call(node, module, signals, state)
        values[name] = output.values[:, 0]
        return state

    return chunk


def _pointwise(name: str, source: str, step: Step) -> Callable[..., State]:
    def advance(values: dict[str, Tensor], once: dict[str, Signal], state: State) -> State:
        values[name] = step(values[source])
        return state

    return advance


class Graph(nn.Module):
    def __init__(self, plan: GraphPlan, modules: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.plan = plan
        self.nodes = nn.ModuleDict(modules)

    @property
    def heads(self) -> list[Node]:
        return [node for node in self.plan.nodes if node.predicts is not None]

    @property
    def device(self) -> torch.device:
        return next((p.device for p in self.parameters()), torch.device("cpu"))

    def reads(self, node: str) -> set[str]:
        """The fields that a node depends on."""
        return {name for behind in self.plan.behind(node) for name in behind.inputs if name in self.plan.inputs}

    def target(self, head: Node) -> Target:
        """What a head predicts in this graph, and how."""
        plan, module, name = self.plan, self.nodes[head.name], str(head.predicts)
        aligned = said(module, "aligned")
        generates = aligned and name in plan.generated and head.name in plan.streams
        return Target(
            name,
            plan.targets[name],
            plan.given,
            aligned=aligned,
            binary=said(module, "binary"),
            generates=generates,
            decodes=generates and bool(plan.given) and len(plan.generated) == 1 and said(module, "decodes"),
        )

    def driver(self, kind: str, head: str | None = None) -> Node:
        """The head whose predictions are the next inputs of a generation, of tokens (ids) or of real values (seq).

        head: the one to follow, where several generate
        """
        heads = [node for node in self.heads if node.predicts in self.plan.generated]
        if not heads:
            raise UserError("This graph generates nothing: none of its heads predicts one of its inputs.")
        names = [node.name for node in heads]
        if head is not None and head not in names:
            raise UserError(
                f"'{head}' is no head that generates.{did_you_mean(head, names)}  (heads that do: {listed(names)})"
            )
        named = [node for node in heads if head in (None, node.name)]
        able = [node for node in named if self.plan.inputs[str(node.predicts)].kind == kind]
        if not able:
            what = "tokens" if kind == "ids" else "real values"
            raise UserError(f"{listed(node.name for node in named)} does not generate {what}.")
        if len(able) > 1:
            raise UserError(f"Several heads generate: {listed(names)}. Say which one to follow.")
        self._check_driver(able[0])
        return able[0]

    def _check_driver(self, head: Node) -> None:
        """Nothing that a head reads may have to be generated beside what it predicts, or be known step by step."""
        read, target = self.reads(head.name), str(head.predicts)
        for name in sorted(self.plan.generated & read - {target}):
            raise UserError(
                f"'{head.name}' reads '{name}', which is generated as well, and only '{target}' can be followed at a "
                "time. Follow a head that reads nothing else generated."
            )
        axis = self.plan.inputs[target].axis
        if axis in read and axis not in self.plan.generated:
            raise UserError(
                f"'{target}' goes along the given '{axis}' step by step, and such a sequence cannot be generated from "
                "its beginning alone."
            )

    def materialise(self, seed: int = 1, device: str | torch.device = "cpu") -> Graph:
        """A graph of the same plan with weights, the same for the same seed.

        Every node draws from a seed of its own, so that swapping one block leaves the others' weights as they were.
        """
        modules: dict[str, nn.Module] = {}
        with torch.random.fork_rng(devices=[]), torch.device(device):
            for node in self.plan.nodes:
                torch.manual_seed(zlib.crc32(f"{seed}/{node.name}".encode()))
                known = {name: self.plan.inputs.get(name) or self.plan.outputs[name] for name in node.inputs}
                modules[node.name] = build(node, self.plan.inputs | self.plan.targets, known, modules)
        return Graph(self.plan, modules)

    def walk(self, signals: dict[str, Signal], to: str | None = None) -> Iterator[Node]:
        """Run node after node over whole sequences, and put what each gives among the ``signals``.

        A caller may replace that before the next node reads it. With ``to``, no more runs than that node depends on.
        """
        for node in self.plan.nodes if to is None else self.plan.behind(to):
            signals[node.name] = run_node(node, self.nodes[node.name], signals)
            yield node

    def run(self, inputs: Mapping[str, Signal], to: str | None = None) -> dict[str, Signal]:
        """The inputs and what every node makes of them; with ``to``, every node that it depends on, and itself."""
        signals = dict(inputs)
        for _ in self.walk(signals, to):
            pass
        return signals

    def forward(
        self, inputs: Mapping[str, Signal], state: State | None = None
    ) -> tuple[dict[str, Signal], State | None]:
        """Every head's output, by its node's name. With a state, ``inputs`` are the next steps of what is generated."""
        signals = dict(inputs)
        if state is None:
            for node in self.plan.nodes:
                signals[node.name], _ = _call(node, self.nodes[node.name], signals, None)
            return {head.name: signals[head.name] for head in self.heads}, None
        signals |= state["once"]
        following: dict[str, State] = {}
        for node in self.plan.nodes:
            if node.name in state["nodes"]:
                signals[node.name], following[node.name] = _call(
                    node, self.nodes[node.name], signals, state["nodes"][node.name]
                )
        heads = {head.name: signals[head.name] for head in self.heads if head.name in following}
        return heads, {"once": state["once"], "nodes": following}

    def stepper(self, head: str | None = None) -> GraphStep:
        """A function for the next step of every row: what ``forward`` gives for chunks of length one, less time axes.

        It belongs to one generation, and computes on streaming copies of the nodes. It takes the next values of what is
        generated, (B,) for ids and else (B, D), and a state of ``start`` with the same ``head``, and gives every
        node's output by its name, and the next state.
        """
        wanted = self.plan.nodes if head is None else self.plan.behind(head)
        nodes = streaming_copy(self.nodes)
        steps = [(n.name, _advance(n, nodes[n.name], self.plan)) for n in wanted if n.name in self.plan.streams]

        def step(inputs: Mapping[str, Tensor], state: State) -> tuple[dict[str, Tensor], State]:
            values, once, before = dict(inputs), state["once"], state["nodes"]
            following = {name: advance(values, once, before[name]) for name, advance in steps}
            return values, {"once": once, "nodes": following}

        return step

    def start(self, inputs: Mapping[str, Signal], batch: int | None = None, head: str | None = None) -> State:
        """Run what runs once, and begin the rest. ``inputs`` are the ones that are not generated.

        With a ``head``, no more than it depends on.
        """
        if not self.plan.generated:
            raise UserError("This graph generates nothing: none of its heads predicts one of its inputs.")
        if batch is None:
            if not inputs:
                raise UserError("This graph reads nothing but what it generates: say how many rows to start.")
            batch = next(iter(inputs.values())).batch
        signals = dict(inputs)
        nodes: dict[str, State] = {}
        wanted = self.plan.nodes if head is None else self.plan.behind(head)
        with torch.device(self.device):
            for node in wanted:
                module = self.nodes[node.name]
                if node.name not in self.plan.streams:
                    signals[node.name], _ = _call(node, module, signals, None)
                else:
                    nodes[node.name] = self._start_node(node, module, signals, batch)
        needed = {name for node in wanted if node.name in nodes for name in node.inputs}
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

    def read(self, signals: Mapping[str, Signal]) -> dict[str, Signal]:
        """What the graph reads of whole examples: what is given, and what it generates, one step late."""
        return {name: signals[name] for name in self.plan.given} | self.shifted(signals)

    def shifted(self, targets: Mapping[str, Signal]) -> dict[str, Signal]:
        """What the graph reads of what it generates: the same one step late, begun with <sos> or zeros."""
        return {name: _late(targets[name], self.plan.inputs[name]) for name in self.plan.generated}


def _late(signal: Signal, field: Field) -> Signal:
    assert isinstance(signal, Timed)
    values = torch.roll(signal.values, 1, dims=1)
    values[:, 0] = 0 if field.start is None else field.start
    return type(signal)(values, signal.lengths)


@contextmanager
def evaluating(graph: nn.Module) -> Iterator[None]:
    """Every module in evaluation mode, then back in its own: a part that was frozen stays so."""
    modes = {module: module.training for module in graph.modules()}
    graph.eval()
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training
