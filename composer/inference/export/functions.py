"""A graph as functions of named tensors: whole sequences at once, the initial state, and one step of decoding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from composer.core.capabilities import declared
from composer.core.signals import Field, State
from composer.graph.graph import Graph
from composer.inference.export.named_tensors import Axes, StateLayout, Tensors, from_signals, lengths_of, to_signals

BATCH, STEPS = "batch", "steps"
LONGEST = 32  # time steps of the example inputs

#: The input of ``start`` for a model without given inputs. Only its length matters, which is the batch size.
ROWS = "rows"


class GraphFunction(nn.Module):
    """A function of a graph from a dict of tensors to a dict of tensors, as torch.export takes it.

    inputs: example inputs to trace the function with
    others: example inputs of other sizes, to test the traced program
    axes: the dynamic axes of every input
    """

    def __init__(
        self, name: str, compute: Callable[[Graph, Tensors], Tensors], graph: Graph, inputs: Tensors, others: Tensors,
        axes: dict[str, Axes],
    ) -> None:  # fmt: skip
        super().__init__()
        self.model = graph  # a traced module has a "graph" of its own
        self.name, self.compute, self.inputs, self.others, self.axes = name, compute, inputs, others, axes
        self.outputs = list(self(inputs))

    def forward(self, inputs: Tensors) -> Tensors:
        return self.compute(self.model, inputs)


def whole(graph: Graph, inputs: Tensors) -> Tensors:
    """Whole sequences to every head's output."""
    outputs, _ = graph(to_signals(graph.plan.inputs, inputs))
    return from_signals(outputs, list(inputs.values()))


def start(layout: StateLayout, graph: Graph, inputs: Tensors) -> Tensors:
    """The given inputs to the state before the first step."""
    state = graph.start(to_signals(graph.plan.given, inputs), _batch(inputs))
    return {name: leaf.clone() for name, leaf in layout.flat(state).items()}


def step(layout: StateLayout, graph: Graph, inputs: Tensors) -> Tensors:
    """One step of the generated inputs and the state, to the heads' outputs and the next state."""
    found, state = one_step(graph, inputs, layout.tree_of(inputs, _batch(inputs)))
    return found | {following(name): leaf for name, leaf in layout.flat(state).items() if name in layout.changing}


def _batch(inputs: Tensors) -> int:
    return next(iter(inputs.values())).shape[0]


def one_step(graph: Graph, inputs: Mapping[str, Tensor], state: State) -> tuple[Tensors, State]:
    """Every head's output, (B, 1, ...), and the next state, computed as decoding computes them: by single steps."""
    values, state = graph.stepper()({name: inputs[name][:, 0] for name in graph.plan.generated}, state)
    heads = [head.name for head in graph.heads if head.name in graph.plan.streams]
    return {name: values[name][:, None] for name in heads}, state


def following(name: str) -> str:
    """The output name of a state's tensor: ``next_...`` for the input ``state_...``."""
    return "next" + name.removeprefix("state")


def generated_fields(graph: Graph) -> dict[str, Field]:
    return {name: field for name, field in graph.plan.inputs.items() if name in graph.plan.generated}


@torch.no_grad()
def whole_function(graph: Graph) -> GraphFunction:
    fields = graph.plan.inputs
    inputs, others = (examples(fields, sizes) for sizes in (example_sizes(graph), other_sizes(graph)))
    return GraphFunction("model", whole, graph, inputs, others, input_axes(fields))


@torch.no_grad()
def start_function(graph: Graph, layout: StateLayout) -> GraphFunction:
    given = graph.plan.given
    inputs, others = (
        examples(given, sizes) or {ROWS: torch.zeros(sizes[BATCH], dtype=torch.long)}
        for sizes in (example_sizes(graph), other_sizes(graph))
    )
    axes = input_axes(given) or {ROWS: {0: BATCH}}
    return GraphFunction("start", partial(start, layout), graph, inputs, others, axes)


@torch.no_grad()
def step_function(graph: Graph) -> tuple[GraphFunction, StateLayout]:
    """The function for one step, and the layout of its state."""
    sizes = example_sizes(graph)
    states = _stream(graph, sizes)
    token = examples(generated_fields(graph), sizes, step=True)
    with _Touched() as touched:
        one_step(graph, token, states[-1])
    layout = StateLayout.of(states, touched.tensors)
    state = layout.flat(states[-1])
    inputs = token | {name: leaf.clone(memory_format=torch.contiguous_format) for name, leaf in state.items()}
    axes = {name: {0: BATCH} for name in token} | _state_axes(graph, layout, sizes, states)
    sizes = other_sizes(graph)
    later = layout.flat(_stream(graph, sizes, steps=2 * len(states))[-1])
    others = examples(generated_fields(graph), sizes, step=True) | later
    return GraphFunction("step", partial(step, layout), graph, inputs, others, axes), layout


def other_sizes(graph: Graph) -> dict[str, int]:
    return example_sizes(graph, batch=3, longest=5 * LONGEST)


def example_sizes(graph: Graph, batch: int = 2, longest: int = LONGEST) -> dict[str, int]:
    """A different example size for every dynamic axis.

    The tracer treats a size of 1 as fixed, so even a block that shortens a sequence has to output several steps. All
    inputs together stay within the ``limit`` of every block, because a graph may concatenate them.
    """
    times = dict.fromkeys(time_of(name, field) for name, field in graph.plan.inputs.items() if field.timed)
    limits = [limit for module in graph.modules() if isinstance(limit := declared(module, "limit"), int)]
    longest = min([longest, *(limit // (len(times) + 1) for limit in limits)])
    return {BATCH: batch, **{name: max(2, longest - index) for index, name in enumerate(times)}}


def time_of(name: str, field: Field) -> str:
    """The name of a field's time axis: named after the field, or after the field whose time steps it follows."""
    return f"{field.axis or name}_time"


def examples(fields: Mapping[str, Field], sizes: Mapping[str, int], step: bool = False) -> Tensors:
    """Zeros for every field, each followed by its lengths. A single step (``step``) has no lengths."""
    tensors: Tensors = {}
    for name, field in fields.items():
        time = 1 if step or not field.timed else sizes[time_of(name, field)]
        tensors[name] = torch.zeros_like(field.example(sizes[BATCH], time, device="cpu").values)
        if field.timed and not step:
            tensors[lengths_of(name)] = torch.arange(time, time - sizes[BATCH], -1)
    return tensors


def input_axes(fields: Mapping[str, Field]) -> dict[str, Axes]:
    axes: dict[str, Axes] = {}
    for name, field in fields.items():
        axes[name] = {0: BATCH, 1: time_of(name, field)} if field.timed else {0: BATCH}
        if field.timed:
            axes[lengths_of(name)] = {0: BATCH}
    return axes


def _state_axes(
    graph: Graph, layout: StateLayout, sizes: Mapping[str, int], states: Sequence[State]
) -> dict[str, Axes]:
    """The dynamic axes of a state's tensors: those whose size depends on the batch, a length or the steps so far."""
    flat = [layout.flat(state) for state in states]
    axes: dict[str, Axes] = {name: {0: BATCH} for name in layout.tensors}
    for name in layout.tensors:
        for axis in _differing(flat[-2][name], flat[-1][name]):
            before = flat[-1][name].shape[axis] - len(states) + 1  # entries of the cache before the first step
            axes[name][axis] = f"{STEPS}_plus_{before}" if before else STEPS
    for time in dict.fromkeys(time_of(name, field) for name, field in graph.plan.given.items() if field.timed):
        shorter = sizes[time] // 2
        other = layout.flat(_stream(graph, {**sizes, time: shorter})[-1])
        for name in layout.tensors:
            for axis in _differing(flat[-1][name], other[name]):
                same = flat[-1][name].shape[axis] == sizes[time] and other[name].shape[axis] == shorter
                axes[name][axis] = time if same and axis not in axes[name] else f"{name}_{axis}"
    return axes


def _stream(graph: Graph, sizes: Mapping[str, int], steps: int = 2) -> list[State]:
    """The initial state, and the state after each of ``steps`` steps."""
    given = to_signals(graph.plan.given, examples(graph.plan.given, sizes))
    states = [graph.start(given, sizes[BATCH])]
    token = to_signals(generated_fields(graph), examples(generated_fields(graph), sizes, step=True))
    for _ in range(steps):
        states.append(graph(token, states[-1])[1])
    return states


class _Touched(TorchFunctionMode):
    """Records which tensors an operation reads. State that only ``start`` needs is left out of the step's inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.tensors: set[int] = set()

    def __torch_function__(
        self, func: Callable, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.tensors |= {id(leaf) for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        return func(*args, **(kwargs or {}))


def _differing(one: Tensor, other: Tensor) -> Iterable[int]:
    return [axis for axis, (a, b) in enumerate(zip(one.shape, other.shape, strict=True)) if a != b]
