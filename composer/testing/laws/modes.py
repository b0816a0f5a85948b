"""Laws that hold in training mode as well as in evaluation mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps

from composer.testing.laws.compared import LawBroken, equal, with_gradients
from composer.testing.subjects import Subject
from composer.testing.training_mode import in_training

Law = Callable[[Subject], None]


def in_both_modes(law: Law) -> Law:
    """The law in both modes. A subject that computes the same in training is not tested twice."""

    @wraps(law)
    def held(subject: Subject) -> None:
        law(subject)
        with in_training(subject.module) as module:
            trained = replace(subject, module=module)
            if _alike(subject, trained):
                return
            try:
                law(trained)
            except LawBroken as error:
                raise LawBroken(f"{error} This is so in training mode only.") from error

    return held


def _alike(subject: Subject, trained: Subject) -> bool:
    """Whether outputs and gradients are the same in training; what the padding holds is among the inputs."""
    before = with_gradients(subject)
    after = with_gradients(trained)
    return all(equal(value, after[name], subject.scale**2) for name, value in before.items())
