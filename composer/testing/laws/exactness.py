"""The law ``exactness``: gradients equal finite differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.autograd.gradcheck import GradcheckError, gradcheck

from composer.testing.laws.compared import LawBroken, unpadded
from composer.testing.subjects import Subject

#: Maps the values of the inputs to those of the outputs; the parameters are those of the module.
Function = Callable[..., tuple[Tensor, ...]]

TOLERANCE = 1e-5

#: The tensors that are compared one by one; more of them are compared in so many groups, with steps of this size.
MANY, GROUPS, STEP = 12, 4, 1e-6


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
    with _nudged(weights):
        if len(arguments) > MANY:
            problem = _of_groups(function, arguments, len(values))
        else:
            problem = _of_each(function, arguments)
    if problem:
        raise LawBroken(f"{subject.name}: its gradient is not that of finite differences. {problem}")


def _of_each(function: Function, arguments: Sequence[Tensor]) -> str:
    try:
        gradcheck(function, arguments, fast_mode=True, atol=TOLERANCE)
    except GradcheckError as error:
        return str(error)
    return ""


def _of_groups(function: Function, arguments: Sequence[Tensor], inputs: int) -> str:
    """As gradcheck's fast mode does with one tensor after another, but with many parameters of a graph at a time.

    A group of tensors is moved in a random direction, and the outputs are seen in a random direction.
    """
    generator = torch.Generator().manual_seed(13)

    def unit(tensors: Sequence[Tensor]) -> list[Tensor]:
        drawn = [torch.randn(tensor.shape, generator=generator, dtype=tensor.dtype) for tensor in tensors]
        size = torch.stack([tensor.square().sum() for tensor in drawn]).sum().sqrt()
        return [tensor / size for tensor in drawn]

    given, outputs = arguments[:inputs], function(*arguments[:inputs])
    seen = unit(outputs)

    def total(found: Sequence[Tensor]) -> Tensor:
        return torch.stack([(direction * output).sum() for direction, output in zip(seen, found, strict=True)]).sum()

    gradients = torch.autograd.grad(total(outputs), arguments, allow_unused=True)
    size = -(-len(arguments) // GROUPS)
    for start in range(0, len(arguments), size):
        group = range(start, min(start + size, len(arguments)))
        moved = [arguments[place] for place in group]
        pushes = unit(moved)
        expected = sum(
            float((gradient * push).sum())
            for gradient, push in zip((gradients[place] for place in group), pushes, strict=True)
            if gradient is not None
        )
        values: list[float] = []
        for distance in (STEP, -2 * STEP, STEP):  # ahead, behind, and back again
            with torch.no_grad():
                for tensor, push in zip(moved, pushes, strict=True):
                    tensor.add_(push, alpha=distance)
                values.append(float(total(function(*given))) if len(values) < 2 else 0.0)
        found = (values[0] - values[1]) / (2 * STEP)
        if not abs(found - expected) <= TOLERANCE + 1e-3 * abs(expected):
            return f"Along a direction, the gradient is {expected:.6g}, and the difference {found:.6g}."
    return ""


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
