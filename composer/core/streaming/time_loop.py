"""The loop over time steps, for recurrences that cannot be computed in parallel over a sequence.

While a program is traced for export, the length of a sequence is a symbol and not a number. There the loop is a single
operator, torch's scan, which ONNX has, too. The step is the same function in both cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from composer.core.signals import Seq, State

#: ``step(carry, now) -> carry, output``, each a tree of tensors (B, ...)
LoopStep = Callable[[Any, Any], tuple[Any, Any]]


def open_ended(size: int) -> bool:
    """Whether a size is symbolic, as in tracing for export: no Python branch may depend on a symbolic size."""
    return not isinstance(size, int)


def through_time(
    advance: Callable[[Tensor, State], tuple[Tensor, State]], x: Seq, state: State
) -> tuple[Tensor, State]:
    """The outputs (B, T, ...) of a recurrence's single steps, and the state after each row's last real step.

    A padding step leaves its row's state unchanged, so every tensor of the state has to keep its shape.
    """

    def step(before: State, now: tuple[Tensor, ...]) -> tuple[State, Tensor]:
        y, after = advance(now[0], before)
        return (_where(now[1], after, before) if len(now) > 1 else after), y

    last, outputs = walk(step, state, (x.filled(),) if x.mask is None else (x.filled(), x.mask))
    return outputs, last


def _where(real: Tensor, after: State, before: State) -> State:
    """The state after a step in the rows where the step is real (B,), and the one before the step in the others."""

    def choose(new: Tensor, old: Tensor) -> Tensor:
        return torch.where(real.view(-1, *(1,) * (new.dim() - 1)), new, old)

    return pytree.tree_map(choose, after, before)


def walk(step: LoopStep, carry: Any, steps: Any) -> tuple[Any, Any]:
    """Apply ``step(carry, now) -> carry, output`` to every step: the last carry, and the outputs, (B, T, ...).

    carry: a tree of tensors; steps: a tree of tensors (B, T, ...), whose t-th slices (B, ...) are the t-th ``now``
    """
    leaves, tree = pytree.tree_flatten(steps)
    if open_ended(leaves[0].shape[1]):
        return _operator(step, carry, steps)
    outputs = []
    for now in zip(*(leaf.unbind(1) for leaf in leaves), strict=True):  # indexing has a slow backward pass
        carry, output = step(carry, pytree.tree_unflatten(now, tree))
        outputs.append(output)
    return carry, pytree.tree_map(lambda *leaves: torch.stack(leaves, dim=1), *outputs)


def _operator(step: LoopStep, carry: Any, steps: Any) -> tuple[Any, Any]:
    from torch._higher_order_ops import scan  # takes a second to import

    def cloned(leaf: Tensor) -> Tensor:
        return leaf.clone()

    def unshared(carry: Any, now: Any) -> tuple[Any, Any]:
        return pytree.tree_map(cloned, step(carry, now))  # no two results of the operator may share memory

    return scan(unshared, pytree.tree_map(cloned, carry), steps, dim=1)
