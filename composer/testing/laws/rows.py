"""The law ``batch``: rows are independent, and indexing a state reorders its rows, as beam search does."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from composer.core.signals import Signal, Timed
from composer.testing.laws.comparison import LawBroken, equal, following, leaves, time_span, unpadded
from composer.testing.subjects import Subject


def batch(subject: Subject) -> None:
    """A row's result does not depend on the other rows, and indexing a state on dim 0 reorders it."""
    outputs, _ = subject.run(subject.inputs)
    axis = subject.axis
    for row in range(next(iter(subject.inputs.values())).batch):
        if axis is not None and int(axis.counts[row]) == 0:
            continue  # a row of length zero, cut to its real steps, has no step left
        alone, _ = subject.run({name: _row(signal, row) for name, signal in subject.inputs.items()})
        for name, output in outputs.items():
            mine, its = unpadded(_row(output, row)), unpadded(alone[name])
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
    for name, output in following(subject, expected).items():
        if not equal(unpadded(_index({"y": output}, order)["y"]), unpadded(found[name])):
            raise LawBroken(f"{subject.name}: its state cannot be reordered by indexing every leaf on dim 0.")


def _row(signal: Signal, row: int) -> Signal:
    """One row alone; a sequence is cut to its real steps, so that it has no padding."""
    values = signal.values[row : row + 1]
    if not isinstance(signal, Timed):
        return type(signal)(values)
    return type(signal)(values[:, : int(signal.counts[row])])


def _index(signals: Mapping[str, Signal], order: Tensor) -> dict[str, Signal]:
    return {name: pytree.tree_map(lambda leaf: leaf[order], signal) for name, signal in signals.items()}
