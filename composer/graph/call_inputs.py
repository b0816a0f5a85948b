"""The inputs of a graph as a user has them, tensors and lengths, as signals; what does not fit is a UserError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from composer.core.problems import UserError, did_you_mean, show_value
from composer.core.signals import KINDS, Field, Signal, Timed
from composer.graph.graph import Graph
from composer.graph.nodes import GraphPlan

#: What a field is given as.
Given = Signal | Tensor | Sequence[Any]

#: The numbers of real steps in the rows, of the only sequence or by field.
Lengths = Mapping[str, Tensor | Sequence[int]] | Tensor | Sequence[int]


def call_with(graph: Graph, inputs: Mapping[str, Given], lengths: Lengths | None = None) -> dict[str, Signal]:
    """The output of every head for whole examples. A generated field is given whole, and shifted here: the output at a
    step is predicted from the steps before."""
    signals = signals_of(graph, inputs, lengths)
    outputs, _ = graph(graph.read(signals))
    return outputs


def signals_of(graph: Graph, inputs: Mapping[str, Given], lengths: Lengths | None = None) -> dict[str, Signal]:
    """The fields that a graph reads, as signals on its device. ``inputs`` may hold targets that it does not read."""
    plan = graph.plan
    if not isinstance(inputs, Mapping):
        raise _wrong(plan, f"it was called with {_described(inputs)}, and not with a mapping of fields.")
    for name in inputs:
        if name not in plan.inputs and name not in plan.targets:
            raise _wrong(plan, f"it has no field '{name}'.{did_you_mean(name, plan.inputs)}")
    if missing := [name for name in plan.inputs if name not in inputs]:
        raise _wrong(plan, f"'{missing[0]}' is missing.")
    of_axes = _lengths(plan, lengths)
    found = {}
    for name, field in plan.inputs.items():
        axis = name if name in of_axes or field.axis is None else field.axis
        found[name] = _signal(graph, name, field, inputs[name], of_axes.get(axis))
    _check_sizes(plan, found)
    return found


def _lengths(plan: GraphPlan, lengths: Lengths | None) -> Mapping[str, Tensor | Sequence[int]]:
    """The lengths by field."""
    timed = [name for name, field in plan.inputs.items() if field.timed]
    if lengths is None:
        return {}
    if isinstance(lengths, Mapping):
        for name in lengths:
            if name not in timed:
                hint = did_you_mean(name, timed)
                raise _wrong(plan, f"lengths: '{name}' is no sequence that it reads.{hint}")
        return lengths
    axes = [name for name in timed if plan.inputs[name].axis not in timed or plan.inputs[name].axis == name]
    if len(axes) != 1:
        example = ", ".join(f'"{name}": ...' for name in axes) or "none"
        raise _wrong(plan, f"lengths: it reads {len(axes)} sequences. Give the lengths of each: lengths={{{example}}}.")
    return {axes[0]: lengths}


def _signal(graph: Graph, name: str, field: Field, given: Given, lengths: Tensor | Sequence[int] | None) -> Signal:
    plan, kind = graph.plan, KINDS[field.kind]
    if isinstance(given, Signal):
        if not isinstance(given, kind):
            raise _wrong(plan, f"'{name}' is {type(given).__name__}, not {kind.__name__}.")
        if lengths is not None and isinstance(given, Timed) and given.lengths is not None:
            raise _wrong(plan, f"lengths: '{name}' has lengths of its own. Leave them out.")
        lengths = given.lengths if isinstance(given, Timed) and lengths is None else lengths
        given = given.values
    values = _tensor(plan, f"'{name}'", given).to(graph.device)
    shape, expected = tuple(values.shape), field.shape
    fits = len(shape) == len(expected) and all(
        size == wanted or not isinstance(wanted, int) for size, wanted in zip(shape, expected, strict=True)
    )
    if not fits or 0 in shape[:2]:
        raise _wrong(plan, f"'{name}' has the shape {shape}, and not {_shape(field)}.")
    whole = field.kind in ("ids", "spelling", "label")
    if whole and (values.is_floating_point() or values.is_complex()):
        raise _wrong(plan, f"'{name}' holds numbers of type {values.dtype}, and not whole numbers.")
    values = values.long() if whole else values.to(_float_type(graph))
    if not issubclass(kind, Timed):
        return kind(values)
    counts = None if lengths is None else _counts(plan, name, lengths, values)
    if whole:  # the padding may hold any number, such as -100
        values = kind(values, counts).filled()
        _check_vocabulary(plan, name, field, values)
    return kind(values, counts)


def _counts(plan: GraphPlan, name: str, lengths: Tensor | Sequence[int], values: Tensor) -> Tensor:
    counts = _tensor(plan, f"lengths of '{name}'", lengths).to(values.device)
    rows, steps = values.shape[:2]
    if counts.is_floating_point() or counts.shape != (rows,):
        raise _wrong(plan, f"lengths of '{name}': expected {rows} whole numbers, one for each row.")
    if int(counts.min()) < 0 or int(counts.max()) > steps:
        raise _wrong(plan, f"lengths of '{name}': expected numbers up to its {steps} steps, found {counts.tolist()}.")
    return counts.long()


def _check_vocabulary(plan: GraphPlan, name: str, field: Field, values: Tensor) -> None:
    if field.vocabulary is None:
        return
    low, high = int(values.min()), int(values.max())
    if low < 0 or high >= field.vocabulary:
        wrong = low if low < 0 else high
        raise _wrong(plan, f"'{name}' holds the token {wrong}, and its tokens are 0 to {field.vocabulary - 1}.")


def _check_sizes(plan: GraphPlan, found: Mapping[str, Signal]) -> None:
    """Raise an error if inputs differ in their rows, or in the steps of a common time axis."""
    if len({signal.batch for signal in found.values()}) > 1:
        sizes = ", ".join(f"{name} {signal.batch}" for name, signal in found.items())
        raise _wrong(plan, f"its inputs differ in their numbers of rows: {sizes}.")
    for name, signal in found.items():
        other = found.get(plan.inputs[name].axis or name)
        if isinstance(signal, Timed) and isinstance(other, Timed) and signal.time != other.time:
            axis = plan.inputs[name].axis
            raise _wrong(plan, f"'{name}' has {signal.time} steps, and '{axis}', whose steps it shares, {other.time}.")


def _tensor(plan: GraphPlan, what: str, given: Any) -> Tensor:
    if isinstance(given, Tensor):
        return given
    try:
        return torch.as_tensor(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise _wrong(plan, f"{what} is {_described(given)}, which is no tensor: {error}.") from error


def _float_type(graph: Graph) -> torch.dtype:
    return next((p.dtype for p in graph.parameters() if p.is_floating_point()), torch.get_default_dtype())


def _described(value: object) -> str:
    return f"a {type(value).__name__}" if isinstance(value, Tensor | Signal) else show_value(value)


def _shape(field: Field) -> str:
    return f"({', '.join(str('?' if size is None else size) for size in field.shape)})"


def _wrong(plan: GraphPlan, what: str) -> UserError:
    """The error, and what the graph reads."""
    return UserError(f"the call does not fit this model: {what} It reads\n{wanted(plan)}")


def wanted(plan: GraphPlan) -> str:
    """What a graph is called with, a line for each field."""
    lines = []
    for name, field in plan.inputs.items():
        tokens = f" of {field.vocabulary:,} tokens" if field.vocabulary else ""
        whole = ", given whole: it is predicted step by step" if name in plan.generated else ""
        lines.append(f"  {name}: {field.kind} {_shape(field)}{tokens}{whole}")
    sequences = [name for name, field in plan.inputs.items() if field.timed]
    if sequences:
        each = ", ".join(f'"{name}": [...]' for name in sequences)
        lines.append(f"and of padded rows their numbers of steps, lengths={{{each}}}.")
    return "\n".join(lines)
