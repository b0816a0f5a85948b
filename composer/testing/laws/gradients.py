"""The law ``exactness``: gradients equal finite differences."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.autograd.gradcheck import GradcheckError, gradcheck

from composer.testing.laws.comparison import LawBroken, unpadded
from composer.testing.subjects import Subject


def exactness(subject: Subject) -> None:
    """Gradients equal finite differences."""
    if subject.scale != 1:
        return
    floats = {name: s for name, s in subject.inputs.items() if s.values.is_floating_point()}
    weights = [p for p in subject.module.parameters() if p.requires_grad]

    def function(*values: Tensor) -> tuple[Tensor, ...]:
        given = {name: replace(s, values=v) for (name, s), v in zip(floats.items(), values, strict=False)}
        outputs, _ = subject.run(subject.inputs | given)
        return tuple(unpadded(output) for output in outputs.values())

    values = [s.values.clone().requires_grad_() for s in floats.values()]
    arguments = (*values, *weights)
    if not arguments:
        return
    try:
        with _nudged(weights):
            gradcheck(function, arguments, fast_mode=True, atol=1e-5)
    except GradcheckError as error:
        raise LawBroken(f"{subject.name}: its gradient is not that of finite differences. {error}") from error


@contextmanager
def _nudged(weights: list[nn.Parameter]) -> Iterator[None]:
    """A little noise in the weights: a bias of zero puts a ReLU behind zero padding on its kink."""
    before = [weight.detach().clone() for weight in weights]
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():
        for weight in weights:
            weight.add_(torch.randn(weight.shape, generator=generator, dtype=weight.dtype), alpha=0.01)
    try:
        yield
    finally:
        with torch.no_grad():
            for weight, old in zip(weights, before, strict=True):
                weight.copy_(old)
