"""Building and running modules on the meta device, for their shapes alone: no memory is allocated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

_RANDOM = {torch.Tensor.normal_, torch.Tensor.uniform_}


class _NoInitialisation(TorchFunctionMode):
    """Skips weight initialisation: a meta tensor has no numbers, and torch's own no-op there is slow."""

    def __torch_function__(
        self, func: Callable, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == "torch.nn.init" or func in _RANDOM:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


@contextmanager
def on_meta() -> Iterator[None]:
    """Make tensors and modules on the meta device, with shapes but no memory behind them."""
    with torch.device("meta"), _NoInitialisation():
        yield
