"""A copy of a module that is quick to call: the same methods and the same weights without the overhead of nn.Module.

A step of decoding is a few small operations, and on an nn.Module finding ``self.weight`` or calling a submodule costs
as much as one of them. So when a generation begins, the kernel copies its blocks. In a copy, parameters, buffers and
submodules are ordinary attributes, and a submodule's call is its ``forward``. The tensors are those of the original. A
copy lives as long as one generation: whatever changes the original afterwards may not reach the copy.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, TypeVar

from torch import nn
from torch.nn.modules.dropout import _DropoutNd

Result = TypeVar("Result")


class StreamingCopy:
    """The first base of every copy's class; the second is the class of the original."""

    _original: nn.Module

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)  # nn.Module's own would write into tables that the original shares


def streaming_copy(module: Any) -> Any:
    """The copy of a module and of all modules inside it, for one generation.

    A module that does something around its ``forward``, hooks for one, is not copied but used as it is.
    """
    return _copied(module, {})


def original(module: nn.Module) -> nn.Module:
    """The module that a streaming copy was made of; any other module is its own original."""
    return module._original if isinstance(module, StreamingCopy) else module


def calls_forward_alone(module: nn.Module) -> bool:
    """Whether calling a module does what its class's ``forward`` does and nothing else."""
    plain = type(module).__call__ in (nn.Module.__call__, type(module).forward)
    return plain and "forward" not in vars(module) and not module._forward_hooks and not module._forward_pre_hooks


class constant(cached_property[Result]):  # noqa: N801 (a decorator)
    """A property that depends on the weights alone: computed once for a generation.

    On an ordinary module, whose weights may change between two uses, every use computes the property afresh.
    """

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None or isinstance(instance, StreamingCopy):
            return super().__get__(instance, owner)  # kept in the copy, where Python finds it first from then on
        return self.func(instance)


def _copied(module: nn.Module, known: dict[nn.Module, nn.Module]) -> nn.Module:
    """The copy of a module; a module that stands in several places has one copy."""
    if module not in known:
        known[module] = _copy(_effective(module), known) if _can_be_copied(module) else module
    return known[module]


def _effective(module: nn.Module) -> nn.Module:
    """Dropout in evaluation is the identity, and an operation less."""
    return nn.Identity() if isinstance(module, _DropoutNd) and not module.training else module


def _copy(module: nn.Module, known: dict[nn.Module, nn.Module]) -> nn.Module:
    inside = {name: None if part is None else _copied(part, known) for name, part in module._modules.items()}
    cls: Any = type(module)
    streaming = _streaming_class(cls)
    copy = streaming.__new__(streaming)
    vars(copy).update(vars(module) | module._parameters | module._buffers | inside)
    vars(copy).update(_modules=inside, _original=module)
    return copy


def _can_be_copied(module: nn.Module) -> bool:
    finds = type(module).__getattr__ is nn.Module.__getattr__
    return finds and calls_forward_alone(module) and not isinstance(module, StreamingCopy)


@cache
def _streaming_class(cls: type[nn.Module]) -> type[nn.Module]:
    return type(cls.__name__, (StreamingCopy, cls), {"__call__": cls.forward, "__module__": cls.__module__})
