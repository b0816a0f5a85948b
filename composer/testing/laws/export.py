"""The law ``export``: the exported program gives the same results as the block."""

from __future__ import annotations

import warnings

import torch

from composer.core.capabilities import can_export
from composer.core.stack_traces import without_stack_traces
from composer.testing.laws.compared import AsModule, LawBroken, equal, leaves
from composer.testing.subjects import Subject


def export(subject: Subject) -> None:
    """The program that torch.export makes gives the same results, unless the class declares ``exports = False``."""
    if not can_export(subject.module, "torch"):
        return
    states = [None, subject.start(subject.inputs)] if subject.stateful and subject.causal else [None]
    with torch.no_grad(), warnings.catch_warnings(action="ignore"), without_stack_traces():  # torch warns about itself
        for state in states:
            expected, after = subject.run(subject.inputs, state)
            program = torch.export.export(AsModule(subject), (subject.inputs, state), strict=False)
            found, carried = program.module()(subject.inputs, state)
            pairs = [(output.filled(), found[name].filled()) for name, output in expected.items()]
            pairs += zip(leaves(after), leaves(carried), strict=True)
            if not all(equal(one, other) for one, other in pairs):
                raise LawBroken(f"{subject.name}: exported, it gives another result.")
