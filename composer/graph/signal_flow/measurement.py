"""Measuring a graph at initialisation: the sizes of activations, of gradients and of the terms of sums.

The graph is measured in evaluation mode, in float32, on random inputs and targets (inputs.py). A weight matrix that is
initialised to zero, as in many output layers, is drawn at random first. Until its first update, a zero matrix would
make every activation after it constant, and every gradient before it zero. The result lists these matrices.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from composer.core.recording import Sum, watch_sums
from composer.core.signals import Signal
from composer.graph.combinators.sublayer import Sublayer
from composer.graph.graph import Graph
from composer.graph.nodes import Node
from composer.graph.signal_flow.influence import Influence, influences
from composer.graph.signal_flow.inputs import draw_inputs, draw_targets
from composer.graph.signal_flow.sizes import rms, rms_at_ends


@dataclass(frozen=True)
class Size:
    """The root mean square of an output and of the loss's gradient with respect to the output.

    slot: the module inside the node that returned the output, e.g. 'layers.0.mixer'; '' for the node itself
    first, last: the gradient at every row's first and last real step alone; None without a time axis
    """

    node: str
    slot: str
    rms: float
    gradient: float
    first: float | None
    last: float | None


@dataclass(frozen=True)
class Term:
    """One term of a sum.

    node: the node whose output is the term; None if the term is no node's output
    small: the reason why the term may be much smaller than the others; '' if it may not
    """

    name: str
    rms: float
    node: str | None
    small: str


@dataclass(frozen=True)
class TermSizes:
    """The terms of one sum, in the module ``slot`` of a node."""

    node: str
    slot: str
    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Measurement:
    nodes: tuple[Node, ...]
    sizes: tuple[Size, ...]
    sums: tuple[TermSizes, ...]
    influences: tuple[Influence, ...]
    started_at_zero: tuple[str, ...]  # weight matrices that were drawn at random for the measurement


def measure(graph: Graph, seed: int = 0) -> Measurement:
    """Measure a graph with initialised weights, on a copy: the graph itself is not changed."""
    graph = copy.deepcopy(graph).float().eval()
    generator = torch.Generator().manual_seed(seed)
    drawn = _draw_zero_weights(graph, generator)
    inputs = draw_inputs(graph, generator)
    with torch.enable_grad(), watch_sums() as sums, _slot_outputs(graph) as outputs:
        signals = dict(inputs)
        for node in graph.walk(signals):
            outputs[node.name, ""] = signals[node.name]
            _keep_gradient(signals[node.name])
        _loss(graph, signals, generator).backward()
    sizes = tuple(_size(node, slot, output) for (node, slot), output in outputs.items())
    names = {id(signals[node.name].values): node.name for node in graph.plan.nodes}
    paths = {module: path for path, module in graph.nodes.named_modules()}
    found = tuple(_term_sizes(paths[module], one, names) for module, shown in sums.items() for one in shown)
    moved = influences(graph, inputs, generator)
    return Measurement(graph.plan.nodes, sizes, found, tuple(moved), tuple(drawn))


def _draw_zero_weights(graph: Graph, generator: torch.Generator) -> list[str]:
    """Draw every zero matrix from N(0, 1 / fan_in), and set every scalar gain of zero to one. Return their names."""
    drawn = []
    with torch.no_grad():
        for name, weight in graph.named_parameters():
            if bool(weight.any()) or (weight.dim() < 2 and weight.numel() != 1):
                continue
            if weight.numel() == 1:
                weight.fill_(1.0)
            else:
                weight.normal_(std=weight[0].numel() ** -0.5, generator=generator)
            drawn.append(name.removeprefix("nodes."))
    return drawn


@contextmanager
def _slot_outputs(graph: Graph) -> Iterator[dict[tuple[str, str], Signal]]:
    """The output of every slot of every stack, by node and slot, filled in while the graph runs."""
    outputs: dict[tuple[str, str], Signal] = {}
    hooks = []
    for node, module in graph.nodes.items():
        for path, part in module.named_modules():
            if isinstance(part, Sublayer):

                def keep(_: nn.Module, __: object, result: tuple[Signal, object], at: tuple = (node, path)) -> None:
                    outputs[at] = result[0]
                    _keep_gradient(result[0])

                hooks.append(part.register_forward_hook(keep))
    try:
        yield outputs
    finally:
        for hook in hooks:
            hook.remove()


def _keep_gradient(signal: Signal) -> None:
    values = signal.values
    if values.is_floating_point():
        if not values.requires_grad:
            values.requires_grad_()  # the output of a frozen node: the gradient ends here, but its size is measured
        values.retain_grad()


def _loss(graph: Graph, signals: Mapping[str, Signal], generator: torch.Generator) -> Tensor:
    """The heads' losses summed over all steps; without a head, a random projection of the last node's output."""
    if graph.heads:
        targets = draw_targets(graph, signals, generator)
        losses = [graph.nodes[name].loss(signals[name], wanted).sum() for name, wanted in targets.items()]
        return torch.stack(losses).sum()
    values = signals[graph.plan.nodes[-1].name].filled()
    return (values * torch.randn(values.shape, generator=generator)).sum()


def _size(node: str, slot: str, output: Signal) -> Size:
    gradient = output.values.grad
    if gradient is None:
        gradient = torch.zeros_like(output.values)
    first, last = rms_at_ends(output, gradient) or (None, None)
    return Size(node, slot, rms(output), rms(output, gradient), first, last)


def _term_sizes(path: str, shown: Sum, names: Mapping[int, str]) -> TermSizes:
    node, _, slot = path.partition(".")
    terms = tuple(
        Term(name, rms(term), names.get(id(term.values)), shown.small.get(name, ""))
        for name, term in shown.terms.items()
    )
    return TermSizes(node, slot, terms)
