"""The laws, as functions of a subject. Each raises LawBroken with what was expected and found.

Comparisons are in float64, so that a difference is an error and not a rounding.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor
from torch.autograd.gradcheck import GradcheckError, gradcheck
from torch.utils import _pytree as pytree

from composer.core.capabilities import can_export, said
from composer.core.meta import on_meta
from composer.core.problems import Problem
from composer.core.signals import Signal, State, Timed
from composer.core.streaming import CannotStream, GraphStep
from composer.graph.signal_flow import measure, problems
from composer.testing.subjects import Subject, example

TOLERANCE = 1e-8
STEPS = 3  # that the law of steps takes


class LawBroken(AssertionError):
    """A block or a graph does not obey a law."""


def chunks(subject: Subject, cuts: Sequence[int] | None = None) -> None:
    """Any split of a sequence into chunks, the state threaded through, gives the whole's outputs and gradients."""
    if subject.stateful and not subject.causal:
        return refuses_to_stream(subject)
    axis = subject.axis
    if axis is None or not _streams(subject):
        return None
    cuts = sorted({0, *(cuts if cuts is not None else range(1, axis.time)), axis.time})
    whole = _gradients(subject, lambda inputs: _following(subject, subject.run(inputs)[0]))
    pieces = _gradients(subject, lambda inputs: _in_chunks(subject, inputs, cuts))
    _same(subject, f"the chunks {cuts}", whole, pieces)
    return None


def steps(subject: Subject) -> None:
    """Single steps of every row, each at a place of its own as when decoding, give what the whole gives."""
    axis = subject.axis
    if axis is None or not _streams(subject):
        return
    for prefix in (torch.zeros_like(axis.counts), axis.counts, torch.full_like(axis.counts, axis.time)):
        step = subject.stepper()
        if step is not None:
            _going_on(subject, step, prefix)


def _going_on(subject: Subject, step: GraphStep, prefix: Tensor) -> None:
    """Compare the steps behind a prefix of every row with the same steps as a part of the whole."""
    whole = dict(subject.inputs)
    for index, name in enumerate(sorted(subject.streamed)):
        whole[name] = example(subject.fields[name], (prefix + STEPS).tolist(), seed=200 + index)
    with torch.no_grad():
        expected, _ = subject.run(whole)
        state: State = subject.start(whole) if subject.stateful else None
        longest = int(prefix.max())
        if longest and subject.stateful:
            ragged = None if bool((prefix == longest).all()) else prefix
            chunk: dict[str, Signal] = {}
            for name, signal in whole.items():
                if name in subject.streamed and isinstance(signal, Timed):
                    chunk[name] = type(signal)(signal.values[:, :longest], ragged)
            _, state = subject.run(whole | chunk, state)
        rows = torch.arange(len(prefix))
        for ahead in range(STEPS):
            found, state = step({n: whole[n].values[rows, prefix + ahead] for n in subject.streamed}, state)
            for name, output in _following(subject, expected).items():
                if not _equal(output.values[rows, prefix + ahead], found[name]):
                    raise LawBroken(f"{subject.name}: step {ahead} behind {prefix.tolist()} others is not the whole's.")


def refuses_to_stream(subject: Subject) -> None:
    """What reads the future cannot go step by step, and says so."""
    try:
        subject.start(subject.inputs)
    except CannotStream:
        return
    raise LawBroken(f"{subject.name} is not causal, but start() does not refuse with CannotStream.")


def padding(subject: Subject) -> None:
    """NaN in the padding changes no valid output, no state and no gradient."""
    clean = _gradients(subject, lambda inputs: subject.run(inputs)[0])
    poisoned = subject.with_inputs({n: _poison(s, subject.fields[n].vocabulary) for n, s in subject.inputs.items()})
    _same(subject, "poison in the padding", clean, _gradients(poisoned, lambda inputs: poisoned.run(inputs)[0]))
    if subject.stateful and subject.causal:
        states = [s.run(s.inputs, s.start(s.inputs))[1] for s in (subject, poisoned)]
        for one, other in zip(*(_leaves(state) for state in states), strict=True):
            if not _equal(one, other):
                raise LawBroken(f"{subject.name}: poison in the padding reaches the state.")
    _padding_of_losses(subject)


def causality(subject: Subject) -> None:
    """What says it is causal gives the same outputs up to a step, whatever comes after it."""
    axis = subject.axis
    if axis is None or not subject.causal or not _streams(subject):
        return
    before, _ = subject.run(subject.inputs)
    for step in range(1, axis.time):
        changed = dict(subject.inputs)
        for index, name in enumerate(sorted(subject.streamed)):
            old = subject.inputs[name]
            other = example(subject.fields[name], [axis.time] * old.batch, seed=100 + step + index)
            changed[name] = replace(old, values=torch.cat([old.values[:, :step], other.values[:, step:]], dim=1))
        after, _ = subject.run(changed)
        for name, output in _following(subject, after).items():
            early = [_real(signal)[:, :step] for signal in (before[name], output)]
            if not _equal(*early):
                raise LawBroken(f"{subject.name}: the output before step {step} changes with the input from there on.")


def batch(subject: Subject) -> None:
    """A row's result does not depend on the other rows, and indexing a state on dim 0 reorders it."""
    outputs, _ = subject.run(subject.inputs)
    axis = subject.axis
    for row in range(next(iter(subject.inputs.values())).batch):
        if axis is not None and int(axis.counts[row]) == 0:
            continue  # nothing is left of a row without a step
        alone, _ = subject.run({name: _row(signal, row) for name, signal in subject.inputs.items()})
        for name, output in outputs.items():
            mine, its = _real(_row(output, row)), _real(alone[name])
            if not _equal(mine, its):
                raise LawBroken(f"{subject.name}: row {row} alone and without padding gives another result.")
    if not (subject.stateful and subject.causal) or axis is None or axis.time < 2:
        return
    order = torch.arange(axis.batch - 1, -1, -1)
    first, rest = (_time(subject, subject.inputs, *span) for span in ((0, 1), (1, axis.time)))
    _, state = subject.run(first, subject.start(subject.inputs))
    if any(leaf.shape[:1] != (axis.batch,) for leaf in _leaves(state)):
        raise LawBroken(f"{subject.name}: a tensor of its state is not batch-first.")
    expected, _ = subject.run(rest, state)
    found, _ = subject.run(_index(rest, order), pytree.tree_map(lambda leaf: leaf[order], state))
    for name, output in _following(subject, expected).items():
        if not _equal(_real(_index({"y": output}, order)["y"]), _real(found[name])):
            raise LawBroken(f"{subject.name}: its state cannot be reordered by indexing every leaf on dim 0.")


def none(subject: Subject) -> None:
    """No state asked for, none given, none kept; a state given stays as it is, so that many can go on from it."""
    first, state = subject.run(subject.inputs)
    if _leaves(state):
        raise LawBroken(f"{subject.name}: no state went in, but one came out.")
    again, _ = subject.run(subject.inputs)
    if any(not _equal(_real(first[name]), _real(again[name])) for name in first):
        raise LawBroken(f"{subject.name}: the same input gives another result the second time.")
    axis = subject.axis
    if subject.stateful and subject.causal and axis is not None and axis.time > 1:
        with torch.no_grad():  # where a cache may be written in place
            _branches(subject, axis.time)


def _branches(subject: Subject, time: int) -> None:
    """Several continuations of one state, steps of one and of another in turn, do not disturb each other."""
    _, state = subject.run(_time(subject, subject.inputs, 0, 1), subject.start(subject.inputs))
    before = [leaf.clone() for leaf in _leaves(state)]
    backwards = {
        name: signal.reversed() if name in subject.streamed and isinstance(signal, Timed) else signal
        for name, signal in subject.inputs.items()
    }
    alone = [_steps(subject, [inputs], state, time)[0] for inputs in (subject.inputs, backwards)]
    in_turn = _steps(subject, [subject.inputs, backwards], state, time)
    for expected, found in zip(alone, in_turn, strict=True):
        if not all(_equal(one, other) for one, other in zip(expected, found, strict=True)):
            raise LawBroken(f"{subject.name}: two continuations of one state disturb each other.")
    if not all(_equal(one, other) for one, other in zip(before, _leaves(state), strict=True)):
        raise LawBroken(f"{subject.name}: going on from a state changes it.")


def _steps(subject: Subject, ways: Sequence[Mapping[str, Signal]], state: State, time: int) -> list[list[Tensor]]:
    """The outputs from the second step on of several ways to go on from a state, a step of each in turn."""
    states: list[State] = [state] * len(ways)
    outputs: list[list[Tensor]] = [[] for _ in ways]
    for step in range(1, time):
        for index, inputs in enumerate(ways):
            found, states[index] = subject.run(_time(subject, inputs, step, step + 1), states[index])
            outputs[index] += [_real(output) for output in _following(subject, found).values()]
    return outputs


def exactness(subject: Subject) -> None:
    """Gradients equal finite differences."""
    floats = {name: s for name, s in subject.inputs.items() if s.values.is_floating_point()}
    weights = [p for p in subject.module.parameters() if p.requires_grad]

    def function(*values: Tensor) -> tuple[Tensor, ...]:
        given = {name: replace(s, values=v) for (name, s), v in zip(floats.items(), values, strict=False)}
        outputs, _ = subject.run(subject.inputs | given)
        return tuple(_real(output) for output in outputs.values())

    values = [s.values.clone().requires_grad_() for s in floats.values()]
    arguments = (*values, *weights)
    if not arguments:
        return
    try:
        gradcheck(function, arguments, fast_mode=True, atol=1e-5)
    except GradcheckError as error:
        raise LawBroken(f"{subject.name}: its gradient is not that of finite differences. {error}") from error


def portability(subject: Subject) -> None:
    """Runs on meta tensors; under autocast stays finite and keeps its state in float32."""
    outputs, _ = subject.run(subject.inputs)
    _on_meta(subject, outputs)
    _under_autocast(subject)


def export(subject: Subject) -> None:
    """torch.export gives a program with the same results. A class that cannot says ``exports = False``."""
    if not can_export(subject.module, "torch"):
        return
    states = [None, subject.start(subject.inputs)] if subject.stateful and subject.causal else [None]
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, about its internals
        for state in states:
            expected = subject.run(subject.inputs, state)
            program = torch.export.export(_Runs(subject), (subject.inputs, state), strict=False)
            found = program.module()(subject.inputs, state)
            for one, other in zip(_leaves(expected), _leaves(found), strict=True):
                if not _equal(one, other):
                    raise LawBroken(f"{subject.name}: exported, it gives another result.")


def signals(subject: Subject) -> None:
    """At initialisation every input moves every head, no term of a sum drowns another, sizes stay bounded in depth."""
    found = signal_problems(subject)
    if found:
        count = "1 signal is" if len(found) == 1 else f"{len(found)} signals are"
        messages = "\n".join(problem.message for problem in found)
        raise LawBroken(
            f"{subject.name}: {count} out of bounds, see `python -m composer describe --signals`.\n{messages}"
        )


def signal_problems(subject: Subject) -> list[Problem]:
    """What is beyond the limits of the law of signals, each at the node to mend."""
    return problems(measure(subject.graph))


class _Runs(torch.nn.Module):
    """A subject as a module, for torch.export."""

    def __init__(self, subject: Subject) -> None:
        super().__init__()
        self.module = subject.module
        self.run = subject.run

    def forward(self, inputs: dict[str, Signal], state: State) -> tuple[dict[str, Signal], State]:
        return self.run(inputs, state)


#: Every law by name, in the order to read about them.
LAWS: dict[str, Callable[[Subject], None]] = {
    "chunks": chunks,
    "steps": steps,
    "padding": padding,
    "causality": causality,
    "batch": batch,
    "none": none,
    "exactness": exactness,
    "portability": portability,
    "export": export,
    "signals": signals,
}


def hold(subject: Subject, laws: Iterable[str] = tuple(LAWS)) -> None:
    """Raise LawBroken at the first law the subject breaks."""
    for law in laws:
        LAWS[law](subject)


def broken(subject: Subject) -> dict[str, str]:
    """Every law's name, with what is wrong or ''."""
    found = {}
    for name, law in LAWS.items():
        try:
            law(subject)
            found[name] = ""
        except LawBroken as error:
            found[name] = str(error).strip().splitlines()[0]
    return found


def _streams(subject: Subject) -> bool:
    """Whether the outputs follow the streamed input step by step: with a state, or without any mixing at all."""
    if subject.stateful:
        return subject.causal
    outputs, _ = subject.run(subject.inputs)
    return subject.causal and all(output.timed for output in outputs.values())


def _following(subject: Subject, outputs: Mapping[str, Signal]) -> dict[str, Signal]:
    return {name: output for name, output in outputs.items() if name in subject.following}


def _in_chunks(subject: Subject, inputs: Mapping[str, Signal], cuts: Sequence[int]) -> dict[str, Signal]:
    state: State = subject.start(inputs) if subject.stateful else None
    pieces: list[dict[str, Signal]] = []
    for span in pairwise(cuts):
        outputs, state = subject.run(_time(subject, inputs, *span), state)
        pieces.append(outputs)
    joined: dict[str, Signal] = {}
    for name, first in pieces[0].items():
        values = torch.cat([piece[name].values for piece in pieces], dim=1)
        axis = next(s for n, s in inputs.items() if n in subject.streamed)
        assert isinstance(first, Timed)
        assert isinstance(axis, Timed)
        joined[name] = type(first)(values, axis.lengths)
    return joined


def _time(subject: Subject, inputs: Mapping[str, Signal], start: int, stop: int) -> dict[str, Signal]:
    return {
        name: signal.steps(start, stop) if name in subject.streamed and isinstance(signal, Timed) else signal
        for name, signal in inputs.items()
    }


def _gradients(subject: Subject, function: Callable[[dict[str, Signal]], dict[str, Signal]]) -> dict[str, Tensor]:
    """The valid outputs, and the gradient that random weights on them give every input and parameter."""
    inputs = {
        name: replace(s, values=s.values.clone().requires_grad_()) if s.values.is_floating_point() else s
        for name, s in subject.inputs.items()
    }
    real = {name: _real(output) for name, output in function(inputs).items()}
    generator = torch.Generator().manual_seed(7)
    total = sum((v * torch.randn(v.shape, generator=generator, dtype=v.dtype)).sum() for v in real.values())
    wanted = {f"input {n}": s.values for n, s in inputs.items() if s.values.requires_grad}
    wanted |= {f"parameter {n}": p for n, p in subject.module.named_parameters() if p.requires_grad}
    if isinstance(total, Tensor) and total.requires_grad and wanted:
        gradients = torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
        real |= {
            f"the gradient of {name}": torch.zeros_like(value) if gradient is None else gradient
            for (name, value), gradient in zip(wanted.items(), gradients, strict=True)
        }
    return {name: value.detach() for name, value in real.items()}


def _same(subject: Subject, what: str, expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    for name, value in expected.items():
        if not _equal(value, found[name]):
            distance = (value - found[name]).abs().max().item()
            raise LawBroken(f"{subject.name}: {what} changes {name} by {distance:.2g}.")


def _equal(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape:
        return False
    if not one.is_floating_point():
        return torch.equal(one, other)
    return bool(torch.isfinite(other).all()) and torch.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE)


def _leaves(state: State) -> list[Tensor]:
    return [leaf for leaf in pytree.tree_leaves(state) if leaf is not None]


def _real(signal: Signal) -> Tensor:
    """The values with zero in the padding."""
    return signal.filled() if isinstance(signal, Timed) else signal.values


def _poison(signal: Signal, vocabulary: int | None) -> Signal:
    if not isinstance(signal, Timed) or signal.mask is None:
        return signal
    if signal.values.is_floating_point():
        return replace(signal, values=signal.filled(float("nan")))
    return replace(signal, values=signal.values.masked_fill(~signal.mask, (vocabulary or 0) + 1000))


def _padding_of_losses(subject: Subject) -> None:
    """A head's loss is zero in the padding and finite everywhere, whatever stands there."""
    outputs, _ = subject.run(subject.inputs)
    targets: dict[str, Signal] = {}
    for name, target, head in sorted(subject.heads, key=lambda head: not said(head[2], "aligned")):
        output = outputs[name]
        steps = output.counts if isinstance(output, Timed) else torch.ones(output.batch)
        if not said(head, "aligned"):
            steps = (steps + 1) // 2  # what finds its own alignment needs room for one
        targets.setdefault(target, example(subject.targets[target], [int(count) for count in steps], seed=11))
    poisoned = {name: _poison(target, subject.targets[name].vocabulary) for name, target in targets.items()}
    for clean, dirty in zip(subject.losses(outputs, targets), subject.losses(outputs, poisoned), strict=True):
        if not _equal(clean, dirty):
            raise LawBroken(f"{subject.name}: what stands in the target's padding changes the loss.")


def _row(signal: Signal, row: int) -> Signal:
    """One row alone; a sequence cut to its real steps, so that nothing is padding."""
    values = signal.values[row : row + 1]
    if not isinstance(signal, Timed):
        return type(signal)(values)
    return type(signal)(values[:, : int(signal.counts[row])])


def _index(signals: Mapping[str, Signal], order: Tensor) -> dict[str, Signal]:
    return {name: pytree.tree_map(lambda leaf: leaf[order], signal) for name, signal in signals.items()}


def _on_meta(subject: Subject, outputs: Mapping[str, Signal]) -> None:
    moved = replace(subject, module=copy.deepcopy(subject.module).to("meta"))
    moved.inputs = pytree.tree_map(lambda leaf: leaf.to("meta"), subject.inputs)
    with on_meta():
        shapes, _ = moved.run(moved.inputs)
        if subject.stateful and subject.causal:
            moved.run(moved.inputs, moved.start(moved.inputs))
    for name, output in outputs.items():
        if shapes[name].values.shape != output.values.shape:
            raise LawBroken(f"{subject.name}: on meta tensors the shape is {tuple(shapes[name].values.shape)}.")


def _under_autocast(subject: Subject) -> None:
    def single(leaf: Tensor) -> Tensor:
        return leaf.float() if leaf.is_floating_point() else leaf

    lower = replace(subject, module=copy.deepcopy(subject.module).float())
    lower.inputs = pytree.tree_map(single, subject.inputs)
    exact, _ = lower.run(lower.inputs)
    before = after = None
    with _plain_kernels(), torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
        outputs, _ = lower.run(lower.inputs)
        if subject.stateful and subject.causal:
            before = lower.start(lower.inputs)
            _, after = lower.run(lower.inputs, before)
    for name, output in outputs.items():
        rough, fine = _real(output).float(), _real(exact[name]).float()
        if not torch.isfinite(rough).all() or not torch.allclose(
            rough, fine, rtol=0.1, atol=0.1 + 0.1 * fine.abs().max().item()
        ):
            raise LawBroken(f"{subject.name}: under autocast its result is far from the one in float32.")
    for old, new in zip(_leaves(before), _leaves(after), strict=True):
        recurrent = old.shape == new.shape and not torch.equal(old, new)  # a cache grows, a memory stays as it is
        if recurrent and new.is_floating_point() and new.dtype != torch.float32:
            raise LawBroken(f"{subject.name}: under autocast its state is {new.dtype}; keep it in float32.")


@contextmanager
def _plain_kernels() -> Iterator[None]:
    """Without oneDNN, whose bfloat16 kernels end the process on CPUs that announce AMX but do not allow it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of a GPU's settings whenever these flags change
        with torch.backends.mkldnn.flags(enabled=False):
            yield
