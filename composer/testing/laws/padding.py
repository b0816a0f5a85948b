"""The law ``padding``: the values in the padding change no result, no state and no gradient."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from composer.core.signals import Signal, Timed
from composer.graph.signal_flow.inputs import target_lengths
from composer.testing.laws.compared import LawBroken, check_same, equal, leaves, with_gradients
from composer.testing.laws.modes import in_both_modes
from composer.testing.subjects import Subject, example
from composer.testing.training_mode import drawn_alike, in_training


def padding(subject: Subject) -> None:
    """NaN in the padding changes no valid output, no state and no gradient, in training and evaluation."""
    _padding_of_inputs(subject)
    if subject.heads:
        _padding_of_losses(subject)
        with in_training(subject.module) as module:
            _padding_of_losses(replace(subject, module=module))


@in_both_modes
def _padding_of_inputs(subject: Subject) -> None:
    poisoned = replace(subject, inputs={n: _poison(s, subject.fields[n].vocabulary) for n, s in subject.inputs.items()})
    check_same(subject, "poison in the padding", with_gradients(subject), with_gradients(poisoned))
    if subject.stateful and subject.causal:
        states = [s.run(s.inputs, s.start(s.inputs))[1] for s in (subject, poisoned)]
        for one, other in zip(*(leaves(state) for state in states), strict=True):
            if not equal(one, other):
                raise LawBroken(f"{subject.name}: poison in the padding reaches the state.")


def _padding_of_losses(subject: Subject) -> None:
    """The values in the target's padding do not change a head's loss, and the loss is finite."""
    outputs, _ = subject.run(subject.inputs)
    for name, field, head in subject.heads:
        output = outputs[name]
        wanted = example(field, target_lengths(head, output).tolist(), seed=11)
        poisoned = _poison(wanted, field.vocabulary)
        clean, other = (drawn_alike(partial(head.loss, output, each)) for each in (wanted, poisoned))
        if not equal(clean, other):
            raise LawBroken(f"{subject.name}: what stands in the target's padding changes the loss.")


def _poison(signal: Signal, vocabulary: int | None) -> Signal:
    if not isinstance(signal, Timed) or signal.mask is None:
        return signal
    if signal.values.is_floating_point():
        return replace(signal, values=signal.filled(float("nan")))
    return replace(signal, values=signal.filled((vocabulary or 0) + 1000))
