"""The law ``stateless``: without a state given, none is returned or kept; a given state is never changed in place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from composer.core.signals import Signal, State, Timed
from composer.testing.laws.compared import LawBroken, equal, following, leaves, time_span
from composer.testing.subjects import Subject


def stateless(subject: Subject) -> None:
    """A call without a state returns none and keeps none; a given state is not changed and can be used again."""
    first, state = subject.run(subject.inputs)
    if leaves(state):
        raise LawBroken(f"{subject.name}: no state went in, but one came out.")
    again, _ = subject.run(subject.inputs)
    if any(not equal(first[name].filled(), again[name].filled()) for name in first):
        raise LawBroken(f"{subject.name}: the same input gives another result the second time.")
    axis = subject.axis
    if subject.stateful and subject.causal and axis is not None and axis.time > 1:
        with torch.no_grad():  # without gradients, a KV cache may write into spare memory in place
            _branches(subject, axis.time)


def _branches(subject: Subject, time: int) -> None:
    """Check that two continuations of one state, computed by alternate steps, do not affect each other."""
    _, state = subject.run(time_span(subject, subject.inputs, 0, 1), subject.start(subject.inputs))
    before = [leaf.clone() for leaf in leaves(state)]
    backwards = {
        name: signal.reversed() if name in subject.streamed and isinstance(signal, Timed) else signal
        for name, signal in subject.inputs.items()
    }
    alone = [_steps(subject, [inputs], state, time)[0] for inputs in (subject.inputs, backwards)]
    in_turn = _steps(subject, [subject.inputs, backwards], state, time)
    for expected, found in zip(alone, in_turn, strict=True):
        if not all(equal(one, other) for one, other in zip(expected, found, strict=True)):
            raise LawBroken(f"{subject.name}: two continuations of one state disturb each other.")
    if not all(equal(one, other) for one, other in zip(before, leaves(state), strict=True)):
        raise LawBroken(f"{subject.name}: going on from a state changes it.")


def _steps(
    subject: Subject, continuations: Sequence[Mapping[str, Signal]], state: State | None, time: int
) -> list[list[Tensor]]:
    """The outputs of several continuations of one state, from the second step on, computed by alternate steps."""
    states: list[State | None] = [state] * len(continuations)
    outputs: list[list[Tensor]] = [[] for _ in continuations]
    for step in range(1, time):
        for index, inputs in enumerate(continuations):
            found, states[index] = subject.run(time_span(subject, inputs, step, step + 1), states[index])
            outputs[index] += [output.filled() for output in following(subject, found).values()]
    return outputs
