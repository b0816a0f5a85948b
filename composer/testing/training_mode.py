"""Training mode for the laws: what is dropped in training stays, and every call draws the same random numbers.

Dropout is left out instead of repeated, because the draws for a row depend on the number of rows and steps.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

Module = TypeVar("Module", bound=nn.Module)

SEED = 3


class _MeanDraws(TorchDispatchMode):
    """Replaces each draw of what to keep by its mean, which makes every dropout the identity.

    All dropouts of torch on a CPU, those inside attention and LSTM too, multiply by such a draw divided by its mean.
    """

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is torch.ops.aten.bernoulli_.float:
            return args[0].fill_(args[1] if len(args) > 1 else 0.5)
        return func(*args, **(kwargs or {}))


@contextmanager
def in_training(module: Module) -> Iterator[Module]:
    """A copy of a module in training mode. What it computes inside this ``with`` is a function of its inputs."""
    trained = copy.deepcopy(module).train()
    trained.register_forward_pre_hook(lambda *_: torch.manual_seed(SEED) and None)
    with torch.random.fork_rng(devices=[]), _MeanDraws():
        yield trained


def drawn_alike(function: Callable[[], torch.Tensor]) -> torch.Tensor:
    """The result of a function that may draw random numbers, the same ones in every call."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return function()
