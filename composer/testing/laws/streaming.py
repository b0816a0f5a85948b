"""The laws ``chunks`` and ``steps``: streaming by chunks or by decoding steps equals the parallel computation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from composer.core.signals import Signal, State, Timed
from composer.core.streaming.block_steps import CannotStream, GraphStep
from composer.testing.laws.compared import LawBroken, check_same, equal, following, streams, time_span, with_gradients
from composer.testing.subjects import Subject, example

STEPS = 3  # the number of single steps that the law ``steps`` computes


def chunks(subject: Subject, cuts: Sequence[int] | None = None) -> None:
    """A sequence read in chunks, with the state passed on, gives the outputs and gradients of the whole sequence."""
    if subject.stateful and not subject.causal:
        return refuses_to_stream(subject)
    axis = subject.axis
    if axis is None or not streams(subject):
        return None
    cuts = sorted({0, *(cuts if cuts is not None else range(1, axis.time)), axis.time})
    whole = with_gradients(subject, lambda inputs: following(subject, subject.run(inputs)[0]))
    pieces = with_gradients(subject, lambda inputs: _in_chunks(subject, inputs, cuts))
    check_same(subject, f"the chunks {cuts}", whole, pieces)
    return None


def _in_chunks(subject: Subject, inputs: Mapping[str, Signal], cuts: Sequence[int]) -> dict[str, Signal]:
    state = subject.start(inputs) if subject.stateful else None
    pieces: list[dict[str, Signal]] = []
    for span in pairwise(cuts):
        outputs, state = subject.run(time_span(subject, inputs, *span), state)
        pieces.append(outputs)
    joined: dict[str, Signal] = {}
    for name, first in pieces[0].items():
        values = torch.cat([piece[name].values for piece in pieces], dim=1)
        axis = next(s for n, s in inputs.items() if n in subject.streamed)
        assert isinstance(first, Timed)
        assert isinstance(axis, Timed)
        joined[name] = type(first)(values, axis.lengths)
    return joined


def refuses_to_stream(subject: Subject) -> None:
    """A block that is not causal cannot run step by step: its ``start`` has to raise CannotStream."""
    try:
        subject.start(subject.inputs)
    except CannotStream:
        return
    raise LawBroken(f"{subject.name} is not causal, but start() does not refuse with CannotStream.")


def steps(subject: Subject) -> None:
    """Decoding step by step, with every row at its own position, gives the outputs of the whole sequence."""
    axis = subject.axis
    if axis is None or not streams(subject):
        return
    for prefix in (torch.zeros_like(axis.counts), axis.counts, torch.full_like(axis.counts, axis.time)):
        _compare_steps(subject, subject.stepper(), prefix)


def _compare_steps(subject: Subject, step: GraphStep, prefix: Tensor) -> None:
    """Compare single steps after a prefix of every row with the same steps of one parallel computation."""
    whole = dict(subject.inputs)
    for index, name in enumerate(sorted(subject.streamed)):
        whole[name] = example(subject.fields[name], (prefix + STEPS).tolist(), seed=200 + index)
    with torch.no_grad():
        expected, _ = subject.run(whole)
        state: State = subject.start(whole) if subject.stateful else {}
        longest = int(prefix.max())
        if longest and subject.stateful:
            ragged = None if bool((prefix == longest).all()) else prefix
            chunk: dict[str, Signal] = {}
            for name, signal in whole.items():
                if name in subject.streamed and isinstance(signal, Timed):
                    chunk[name] = type(signal)(signal.values[:, :longest], ragged)
            _, after = subject.run(whole | chunk, state)
            assert after is not None
            state = after
        rows = torch.arange(len(prefix))
        for ahead in range(STEPS):
            found, state = step({n: whole[n].values[rows, prefix + ahead] for n in subject.streamed}, state)
            for name, output in following(subject, expected).items():
                if not equal(output.values[rows, prefix + ahead], found[name]):
                    raise LawBroken(f"{subject.name}: step {ahead} behind {prefix.tolist()} others is not the whole's.")
