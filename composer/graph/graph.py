"""The compiled model: nodes in topological order, run over whole sequences in training or step by step in generation.

A graph is called like its blocks: ``outputs, state = graph(inputs, state)``. Without a state (None) it runs over whole
sequences, with teacher forcing, and returns None as the state. In autoregressive decoding, the nodes that depend on no
generated input (an encoder) run once, in ``start``; the other nodes (a decoder) stream. The graph does not distinguish
encoders and decoders otherwise.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from composer.core.bounds import Bounds
from composer.core.capabilities import declared
from composer.core.problems import UserError, did_you_mean, listed
from composer.core.signals import KINDS, Signal, State, Timed
from composer.core.streaming.block_steps import GraphStep, has_own_step, state_step
from composer.core.streaming.streaming_copy import streaming_copy
from composer.core.target import Target, has_likelihoods
from composer.graph.counted_steps import ALL_STEPS, CountedByHead
from composer.graph.nodes import GraphPlan, Node, build


def run_node(node: Node, module: nn.Module, signals: Mapping[str, Signal]) -> Signal:
    """One node over whole sequences."""
    output, _ = call_node(node, module, signals, None)
    return output


def call_node(node: Node, module: nn.Module, signals: Mapping[str, Signal], state: State | None) -> tuple[Signal, Any]:
    """Run one node over the next steps from a state, or over whole sequences if the state is None.

    The result is the node's output and its next state.
    """
    signature = node.recipe.signature
    args: list[Signal] = []
    ports: dict[str, Signal] = {}
    if node.late:
        signals = {name: _late(signals[name]) if name in node.late else signals[name] for name in node.inputs}
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
    """A function that computes a node's next step, (B, D), stores it among ``values``, and returns the next state."""
    name, once = node.name, node.recipe.signature.once
    moving = [source for source in node.inputs if source in plan.generated or source in plan.streams]
    first, *others = node.sources
    if has_own_step(module) and moving == list(node.sources[first]) and set(others) <= set(once):
        source, step = moving[0], state_step(module)

        def advance(values: dict[str, Tensor], once: dict[str, Signal], state: State) -> State:
            values[name], state = step(values[source], state)
            return state

        return advance
    kinds: dict[str, Any] = {source: KINDS[(plan.inputs.get(source) or plan.outputs[source]).kind] for source in moving}

    def chunk(values: dict[str, Tensor], once: dict[str, Signal], state: State) -> State:
        signals = once | {source: kind(values[source][:, None]) for source, kind in kinds.items()}
        output, state = call_node(node, module, signals, state)
        values[name] = output.values[:, 0]
        return state

    return chunk


class Graph(nn.Module):
    def __init__(self, plan: GraphPlan, modules: Mapping[str, nn.Module]) -> None:
        super().__init__()
        self.plan = plan
        self.nodes: Any = nn.ModuleDict(modules)  # whose modules have the methods of their blocks
        self.bounds: dict[str, Bounds] = {}  # by head, of a trained model

    @property
    def heads(self) -> list[Node]:
        return [node for node in self.plan.nodes if node.predicts is not None]

    @property
    def head_weights(self) -> Tensor:
        """(heads,), the weight of every head's loss in the sum of the losses."""
        return torch.tensor([head.weight for head in self.heads])

    @property
    def device(self) -> torch.device:
        return next((p.device for p in self.parameters()), torch.device("cpu"))

    def reads(self, node: str) -> set[str]:
        """The fields that a node depends on."""
        return {name for other in self.plan.ancestors(node) for name in other.inputs if name in self.plan.inputs}

    def target(self, head: Node) -> Target:
        """The target of a head in this graph: the field that it predicts, and how it predicts it."""
        plan, module, name = self.plan, self.nodes[head.name], str(head.predicts)
        aligned = declared(module, "aligned")
        read = self.reads(head.name)
        given = {field: described for field, described in plan.given.items() if field in read}
        generates = aligned and name in plan.generated and name in read
        return Target(
            name,
            plan.targets[name],
            given,
            aligned=aligned,
            binary=declared(module, "binary"),
            generates=generates,
            decodes=generates and bool(given) and len(plan.generated & read) == 1 and declared(module, "decodes"),
            likelihoods=has_likelihoods(module),
        )

    def generating_head(self, kind: str, head: str | None = None) -> Node:
        """The head whose predictions are the next inputs of a generation, of tokens (ids) or of real values (seq).

        head: the name of the head, where several heads generate
        """
        heads = [node for node in self.heads if self.target(node).generates]
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
        chosen, target = able[0], str(able[0].predicts)
        if others := sorted(self.plan.generated & self.reads(chosen.name) - {target}):
            raise UserError(
                f"'{chosen.name}' reads '{others[0]}', which is generated as well, and only '{target}' can be followed "
                "at a time. Follow a head that reads nothing else generated."
            )
        return chosen

    def materialise(self, seed: int = 1, device: str | torch.device = "cpu") -> Graph:
        """A graph of the same plan with initialised weights, which depend on the seed alone.

        Every node has a random seed of its own, so that another block in one node does not change the weights of the
        other nodes.
        """
        known = self.plan.outputs | self.plan.targets | self.plan.inputs
        modules: dict[str, nn.Module] = {}
        with torch.random.fork_rng(devices=[]), torch.device(device):
            for node in self.plan.nodes:
                torch.manual_seed(zlib.crc32(f"{seed}/{node.name}".encode()))
                modules[node.name] = build(node, known, modules)
        return Graph(self.plan, modules)

    def walk(
        self, signals: dict[str, Signal], to: str | None = None, counted: CountedByHead = ALL_STEPS
    ) -> Iterator[Node]:
        """Run node after node over whole sequences, and store each node's output in ``signals``.

        The caller may replace an output before the next node reads it. With ``to``, only this node and the nodes that
        it depends on run. A head in ``counted`` runs over these steps alone, as one row.
        """
        for node in self.plan.nodes if to is None else self.plan.ancestors(to):
            read: Mapping[str, Signal] = signals
            if node.name in counted:
                read = {name: counted[node.name].of_signal(signals[name]) for name in node.inputs}
            signals[node.name] = run_node(node, self.nodes[node.name], read)
            yield node

    def run(
        self, inputs: Mapping[str, Signal], to: str | None = None, counted: CountedByHead = ALL_STEPS
    ) -> dict[str, Signal]:
        """The inputs and the output of every node; with ``to``, of this node and the nodes that it depends on."""
        signals = dict(inputs)
        for _ in self.walk(signals, to, counted):
            pass
        return signals

    def forward(
        self, inputs: Mapping[str, Signal], state: State | None = None, *, counted: CountedByHead = ALL_STEPS
    ) -> tuple[dict[str, Signal], State | None]:
        """Every head's output, by its node's name. With a state, ``inputs`` are the generated fields' next steps.

        counted: for heads that leave out the other steps, without a state; see counted_steps.py
        """
        if state is None:
            outputs = self.run(inputs, counted=counted)
            return {head.name: outputs[head.name] for head in self.heads}, None
        signals = {**inputs, **state["once"]}
        following: dict[str, State] = {}
        for node in self.plan.nodes:
            if node.name in state["nodes"]:
                signals[node.name], following[node.name] = call_node(
                    node, self.nodes[node.name], signals, state["nodes"][node.name]
                )
        heads = {head.name: signals[head.name] for head in self.heads if head.name in following}
        return heads, {"once": state["once"], "nodes": following}

    def stepper(self, head: str | None = None) -> GraphStep:
        """A function that computes one decoding step of every row, as ``forward`` does for chunks of length one.

        The function is for one generation, since it runs on streaming copies of the nodes. Its arguments are the next
        values of the generated fields, (B,) for ids and otherwise (B, D), and a state of ``start`` with the same
        ``head``. It returns every node's output by name, without a time axis, and the next state.
        """
        wanted = self.plan.nodes if head is None else self.plan.ancestors(head)
        nodes = streaming_copy(self.nodes)
        steps = [(n.name, _advance(n, nodes[n.name], self.plan)) for n in wanted if n.name in self.plan.streams]

        def step(inputs: Mapping[str, Tensor], state: State) -> tuple[dict[str, Tensor], State]:
            values, once, before = dict(inputs), state["once"], state["nodes"]
            following = {name: advance(values, once, before[name]) for name, advance in steps}
            return values, {"once": once, "nodes": following}

        return step

    def start(self, inputs: Mapping[str, Signal], batch: int | None = None, head: str | None = None) -> State:
        """The state before the first decoding step: streaming nodes are started, and nodes that they read are run once.

        inputs: the given fields, which are not generated
        head: run and start only the nodes that this head depends on
        """
        if not self.plan.generated:
            raise UserError("This graph generates nothing: none of its heads predicts one of its inputs.")
        if batch is None:
            if not inputs:
                raise UserError("This graph reads nothing but what it generates: say how many rows to start.")
            batch = next(iter(inputs.values())).batch
        signals = dict(inputs)
        nodes: dict[str, State] = {}
        wanted = self.plan.ancestors(*(self.plan.streams if head is None else [head]))
        with torch.device(self.device):
            for node in wanted:
                module = self.nodes[node.name]
                if node.name not in self.plan.streams:
                    signals[node.name], _ = call_node(node, module, signals, None)
                elif (signature := node.recipe.signature).stateful:
                    ports = {port: signals[node.sources[port][0]] for port in signature.once if port in node.sources}
                    nodes[node.name] = module.start(batch, **ports)
                else:
                    nodes[node.name] = {}
        needed = {name for node in wanted if node.name in nodes for name in node.inputs}
        once = {name: signal for name, signal in signals.items() if name in needed}
        return {"once": once, "nodes": nodes}

    def losses(
        self, outputs: Mapping[str, Signal], targets: Mapping[str, Signal], counted: CountedByHead = ALL_STEPS
    ) -> dict[str, Tensor]:
        """Each head's loss, one value per step or per row, zero in the padding; in ``counted``, (1, N)."""
        found = {}
        for head in self.heads:
            target = targets[str(head.predicts)]
            wanted = counted[head.name].of_signal(target) if head.name in counted else target
            found[head.name] = self.nodes[head.name].loss(outputs[head.name], wanted)
        return found

    def read(self, signals: Mapping[str, Signal]) -> dict[str, Signal]:
        """The graph's inputs from whole examples, with teacher forcing: generated fields are shifted by one step."""
        return {name: signals[name] for name in self.plan.given} | self.shifted(signals)

    def shifted(self, targets: Mapping[str, Signal]) -> dict[str, Signal]:
        """The generated fields as inputs (teacher forcing): shifted right by one step, with <sos> or zeros first."""
        return {name: _late(targets[name], self.plan.inputs[name].start or 0) for name in self.plan.generated}


def _late(signal: Signal, first: int = 0) -> Signal:
    """A sequence shifted right by one step, with the value ``first`` at its first step."""
    assert isinstance(signal, Timed)
    values = torch.roll(signal.values, 1, dims=1)
    values[:, 0] = first
    return type(signal)(values, signal.lengths)


@contextmanager
def evaluating(graph: nn.Module) -> Iterator[None]:
    """Every module in evaluation mode, then restored to its own mode: a frozen part stays in evaluation mode."""
    modes = {module: module.training for module in graph.modules()}
    graph.eval()
    try:
        yield
    finally:
        for module, training in modes.items():
            module.training = training
