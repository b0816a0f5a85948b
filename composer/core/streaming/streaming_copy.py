"""A copy of a module that is fast to call: the same methods and the same weights without the overhead of nn.Module.

A decoding step is a few small operations. On an nn.Module, looking up ``self.weight`` or calling a submodule costs as
much as one of these operations. So the graph copies its blocks when a generation begins. In a copy, parameters, buffers
and submodules are ordinary attributes, and calling a submodule calls its ``forward``. A copy shares the tensors of the
original. It is used for one generation only: later changes of the original may not reach the copy.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from torch.nn.modules.dropout import _DropoutNd

Result = TypeVar("Result")

#: The most numbers of a matrix for which ``by_columns`` pays: a larger matrix does not stay in the cache.
SMALL = 2**17


class StreamingCopy:
    """The first base of every copy's class; the second is the class of the original."""

    _original: nn.Module

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # nn.Module's own would write into dicts that the original shares


class ForwardWrapper:
    """Replaces a module's ``forward`` by a call with the same results, such as activation checkpointing in training.

    A streaming copy leaves the wrapper out and calls the ``forward`` of the class.
    """

    def __init__(self, module: nn.Module) -> None:
        self.wrapped = module.forward
        module.forward = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def streaming_copy(module: Any) -> Any:
    """The copy of a module and of all modules inside it, for one generation.

    A module whose call does more than its ``forward``, for example hooks, is not copied: the original is used.
    """
    return _copied(module, {})


def original(module: nn.Module) -> nn.Module:
    """The module that a streaming copy was made of; any other module is its own original."""
    return module._original if isinstance(module, StreamingCopy) else module


def calls_forward_alone(module: nn.Module) -> bool:
    """Whether calling a module does what its class's ``forward`` does and nothing else."""
    plain = type(module).__call__ in (nn.Module.__call__, type(module).forward)
    replaced = "forward" in vars(module) and not isinstance(module.forward, ForwardWrapper)
    return plain and not replaced and not module._forward_hooks and not module._forward_pre_hooks


class cached_for_generation(cached_property[Result]):  # noqa: N801 (a decorator)
    """A property that depends on the weights alone: computed once for a generation.

    On an ordinary module, whose weights may change between two uses, every use computes the property afresh.
    """

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None or isinstance(instance, StreamingCopy):
            return super().__get__(instance, owner)  # cached in the copy's __dict__, where Python looks first
        return self.func(instance)


def by_columns(weight: Tensor) -> Tensor:
    """The matrix (O, D) of a linear layer, each of its columns contiguous in memory if the matrix is small.

    On a CPU, such a matrix is multiplied by the few rows of a step in two thirds of the time, or less. Storing it takes
    as long as it saves in some 60 steps of one row, so it is for blocks whose steps need it, in a property that is
    ``cached_for_generation``.
    """
    if weight.device.type != "cpu" or torch.compiler.is_exporting() or weight.numel() > SMALL:
        return weight
    if torch.is_autocast_enabled("cpu"):  # which keeps a copy of the weight itself
        return weight
    return weight.t().contiguous().t()


def _copied(module: nn.Module, known: dict[nn.Module, nn.Module]) -> nn.Module:
    """The copy of a module; a module that occurs in several places has one copy."""
    if module not in known:
        plain = type(module).__getattr__ is nn.Module.__getattr__ and not isinstance(module, StreamingCopy)
        known[module] = _copy(module, known) if plain and calls_forward_alone(module) else module
    return known[module]


def _copy(module: nn.Module, known: dict[nn.Module, nn.Module]) -> nn.Module:
    if isinstance(module, _DropoutNd) and not module.training:
        module = nn.Identity()  # the same without an operation
    inside = {name: None if part is None else _copied(part, known) for name, part in module._modules.items()}
    cls: Any = type(module)
    streaming = _streaming_class(cls)
    copy = streaming.__new__(streaming)
    vars(copy).update(vars(module) | module._parameters | module._buffers | inside)
    vars(copy).update(_modules=inside, _original=module)
    vars(copy).pop("forward", None)
    return copy


@cache
def _streaming_class(cls: type[nn.Module]) -> type[nn.Module]:
    call = _linear if cls.forward is nn.Linear.forward else cls.forward
    return type(cls.__name__, (StreamingCopy, cls), {"__call__": call, "__module__": cls.__module__})


def _linear(self: Any, x: Tensor) -> Tensor:
    return linear(x, self.weight, self.bias)
