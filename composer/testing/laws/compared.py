"""What the laws compare: a subject's outputs without padding, its gradients and the leaves of its state.

Comparisons are in float64, so that a difference is an error of the block and not a rounding error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from composer.core.signals import Signal, State, Timed
from composer.testing.subjects import Subject

TOLERANCE = 1e-8

#: What the names of gradients begin with.
GRADIENT = "the gradient of "


class LawBroken(AssertionError):
    """A block or a graph does not obey a law."""


class AsModule(nn.Module):
    """A subject as a module, for functions of torch: those that trace a module, or call it with other weights."""

    def __init__(self, subject: Subject) -> None:
        super().__init__()
        self.module = subject.module
        self.run = subject.run

    def forward(self, inputs: dict[str, Signal], state: State | None) -> tuple[dict[str, Signal], State | None]:
        return self.run(inputs, state)


def streams(subject: Subject) -> bool:
    """Whether the subject can run step by step: it is causal, and has a state or maps every step independently."""
    if subject.stateful:
        return subject.causal
    outputs, _ = subject.run(subject.inputs)
    return subject.causal and all(output.timed for output in outputs.values())


def following(subject: Subject, outputs: Mapping[str, Signal]) -> dict[str, Signal]:
    return {name: output for name, output in outputs.items() if name in subject.following}


def time_span(subject: Subject, inputs: Mapping[str, Signal], start: int, stop: int) -> dict[str, Signal]:
    return {
        name: signal.steps(start, stop) if name in subject.streamed and isinstance(signal, Timed) else signal
        for name, signal in inputs.items()
    }


def with_gradients(
    subject: Subject, function: Callable[[dict[str, Signal]], dict[str, Signal]] | None = None
) -> dict[str, Tensor]:
    """The outputs without padding, and the gradients of a random weighted sum of them, by input and parameter.

    function: how the outputs are computed from the inputs; by default, in one run of the subject
    """
    inputs = {
        name: replace(s, values=s.values.clone().requires_grad_()) if s.values.is_floating_point() else s
        for name, s in subject.inputs.items()
    }
    outputs = subject.run(inputs)[0] if function is None else function(inputs)
    real = {name: output.filled() for name, output in outputs.items()}
    generator = torch.Generator().manual_seed(7)
    total = sum((v * torch.randn(v.shape, generator=generator, dtype=v.dtype)).sum() for v in real.values())
    wanted = {f"input {n}": s.values for n, s in inputs.items() if s.values.requires_grad}
    wanted |= {f"parameter {n}": p for n, p in subject.module.named_parameters() if p.requires_grad}
    if isinstance(total, Tensor) and total.requires_grad and wanted:
        gradients = torch.autograd.grad(total, list(wanted.values()), allow_unused=True)
        real |= {
            f"{GRADIENT}{name}": torch.zeros_like(value) if gradient is None else gradient
            for (name, value), gradient in zip(wanted.items(), gradients, strict=True)
        }
    return {name: value.detach() for name, value in real.items()}


def check_same(subject: Subject, what: str, expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> None:
    for name, value in expected.items():
        # A gradient sums products of inputs and outputs, which may cancel: it rounds to digits of these products.
        size = subject.scale**2 if name.startswith(GRADIENT) else 1.0
        if not equal(value, found[name], size):
            distance = (value - found[name]).abs().max().item()
            raise LawBroken(f"{subject.name}: {what} changes {name} by {distance:.2g}.")


def equal(one: Tensor, other: Tensor, size: float = 1.0) -> bool:
    """Whether two tensors are equal up to rounding errors of terms of this size, or of their largest entry's size."""
    if one.shape != other.shape:
        return False
    if not one.is_floating_point():
        return torch.equal(one, other)
    size = max(size, one.abs().max().item()) if one.numel() else size
    return bool(torch.isfinite(other).all()) and torch.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE * size)


def leaves(tree: Any) -> list[Tensor]:
    """The tensors of a state, or of any other tree."""
    return [leaf for leaf in pytree.tree_leaves(tree) if leaf is not None]
