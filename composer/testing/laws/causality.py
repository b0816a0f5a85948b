"""The law ``causality``: the output of a causal block at a step does not depend on later inputs."""

from __future__ import annotations

from dataclasses import replace

import torch

from composer.testing.laws.compared import LawBroken, equal, following, streams
from composer.testing.laws.modes import in_both_modes
from composer.testing.leaks import find_leak
from composer.testing.subjects import Subject, example


def causality(subject: Subject) -> None:
    """The output of a causal block at a step does not depend on later inputs, in training and evaluation."""
    if subject.objective is not None and (leak := find_leak(subject.graph, subject.objective)):
        raise LawBroken(f"{subject.name}: {leak}.")
    _no_later_input(subject)


@in_both_modes
def _no_later_input(subject: Subject) -> None:
    axis = subject.axis
    if axis is None or not subject.causal or not streams(subject):
        return
    before, _ = subject.run(subject.inputs)
    for step in range(1, axis.time):
        changed = dict(subject.inputs)
        for index, name in enumerate(sorted(subject.streamed)):
            old = subject.inputs[name]
            other = example(subject.fields[name], [axis.time] * old.batch, seed=100 + step + index)
            changed[name] = replace(old, values=torch.cat([old.values[:, :step], other.values[:, step:]], dim=1))
        after, _ = subject.run(changed)
        for name, output in following(subject, after).items():
            early, late = (signal.filled()[:, :step] for signal in (before[name], output))
            if not equal(early, late):
                raise LawBroken(f"{subject.name}: the output before step {step} changes with the input from there on.")
