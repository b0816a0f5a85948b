"""The law ``batch``: rows are independent, and indexing a state reorders its rows, as beam search does.

The steps of a head that is declared stepwise are independent, too.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from composer.core.signals import Signal, Timed
from composer.graph.counted_steps import CountedSteps, stepwise_heads
from composer.testing.laws.compared import LawBroken, equal, following, leaves, time_span
from composer.testing.laws.modes import in_both_modes
from composer.testing.subjects import Subject, example


@in_both_modes
def batch(subject: Subject) -> None:
    """Rows do not depend on each other, in training and evaluation; indexing a state on dim 0 reorders it."""
    outputs, _ = subject.run(subject.inputs)
    if not subject.module.training:  # in training, a loss may draw random numbers for every step
        _steps_of_heads(subject)
    axis = subject.axis
    for row in range(next(iter(subject.inputs.values())).batch):
        if axis is not None and int(axis.counts[row]) == 0:
            continue  # a row of length zero, cut to its real steps, has no step left
        alone, _ = subject.run({name: _row(signal, row) for name, signal in subject.inputs.items()})
        for name, output in outputs.items():
            mine, its = _row(output, row).filled(), alone[name].filled()
            if not equal(mine, its):
                raise LawBroken(f"{subject.name}: row {row} alone and without padding gives another result.")
    if not (subject.stateful and subject.causal) or axis is None or axis.time < 2:
        return
    order = torch.arange(axis.batch - 1, -1, -1)
    first, rest = (time_span(subject, subject.inputs, *span) for span in ((0, 1), (1, axis.time)))
    _, state = subject.run(first, subject.start(subject.inputs))
    if any(leaf.shape[:1] != (axis.batch,) for leaf in leaves(state)):
        raise LawBroken(f"{subject.name}: a tensor of its state is not batch-first.")
    expected, _ = subject.run(rest, state)
    found, _ = subject.run(_index(rest, order), pytree.tree_map(lambda leaf: leaf[order], state))
    for name, output in _index(following(subject, expected), order).items():
        if not equal(output.filled(), found[name].filled()):
            raise LawBroken(f"{subject.name}: its state cannot be reordered by indexing every leaf on dim 0.")


def _steps_of_heads(subject: Subject) -> None:
    """A head that declares ``stepwise`` gives the same losses for every second step alone as for all steps."""
    graph = subject.graph
    for name, target in stepwise_heads(graph.plan, graph.nodes).items():
        loss = graph.nodes[name].loss
        output = graph.run(subject.inputs, name)[name]
        assert isinstance(output, Timed)
        wanted = example(graph.plan.targets[target], output.counts.tolist(), seed=11)
        real = torch.arange(output.time) < output.counts[:, None]  # (B, T)
        some = CountedSteps(*(real & (torch.arange(real.numel()).view_as(real) % 2 == 0)).nonzero(as_tuple=True))
        alone = graph.run(subject.inputs, name, {name: some})[name]
        if not equal(loss(output, wanted)[some], loss(alone, some.of_signal(wanted))[0]):
            raise LawBroken(f"{subject.name}: '{name}' is declared stepwise, but its loss depends on other steps.")


def _row(signal: Signal, row: int) -> Signal:
    """One row alone; a sequence is cut to its real steps, so that it has no padding."""
    values = signal.values[row : row + 1]
    if not isinstance(signal, Timed):
        return type(signal)(values)
    return type(signal)(values[:, : int(signal.counts[row])])


def _index(signals: Mapping[str, Signal], order: Tensor) -> dict[str, Signal]:
    return {name: pytree.tree_map(lambda leaf: leaf[order], signal) for name, signal in signals.items()}
