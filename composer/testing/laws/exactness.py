"""The law ``exactness``: gradients equal finite differences."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor
from torch.autograd.gradcheck import GradcheckError, gradcheck
from torch.func import functional_call

from composer.testing.laws.compared import AsModule, LawBroken
from composer.testing.subjects import Subject

TOLERANCE = 1e-5

#: The tensors that are compared one by one; more of them are compared in so many groups.
MANY, GROUPS = 12, 4


def exactness(subject: Subject) -> None:
    """Gradients equal finite differences."""
    if subject.scale != 1:
        return
    generator = torch.Generator().manual_seed(11)

    def drawn(like: Tensor) -> Tensor:
        return torch.randn(like.shape, generator=generator, dtype=like.dtype)

    tensors = {name: signal.values for name, signal in subject.inputs.items() if signal.values.is_floating_point()}
    for name, weight in subject.module.named_parameters():
        if weight.requires_grad:  # a little noise: a bias of zero puts a ReLU behind zero padding on its kink
            tensors[f"module.{name}"] = weight.detach() + 0.01 * drawn(weight)
    if not tensors:
        return
    count = GROUPS if len(tensors) > MANY else len(tensors)
    groups = [list(tensors)[first::count] for first in range(count)]
    directions = {name: (way := drawn(tensor)) / way.norm() for name, tensor in tensors.items()}

    def function(*distances: Tensor) -> tuple[Tensor, ...]:
        """The outputs where every group of tensors has moved so far along its direction."""
        moved = {
            name: tensors[name] + distance * directions[name]
            for group, distance in zip(groups, distances, strict=True)
            for name in group
        }
        inputs = {name: replace(s, values=moved.pop(name, s.values)) for name, s in subject.inputs.items()}
        outputs, _ = functional_call(AsModule(subject), moved, (inputs, None))
        return tuple(output.filled() for output in outputs.values())

    start = [torch.zeros((), dtype=torch.float64, requires_grad=True) for _ in groups]
    try:
        gradcheck(function, start, atol=TOLERANCE, fast_mode=True)
    except GradcheckError as error:
        raise LawBroken(f"{subject.name}: its gradient is not that of finite differences. {error}") from error
