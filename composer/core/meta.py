"""Building and running modules on the meta device, for their shapes alone: no memory is allocated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

_RANDOM = {torch.Tensor.normal_, torch.Tensor.uniform_}


class _ShapesAlone(TorchFunctionMode):
    """Skips work that a meta tensor, which has no numbers, does not need.

    Weight initialisation is left out. Attention and layer normalisation are made of fewer operations with the same
    shapes, products and gradients: torch's own forms are dozens of operations in Python on the meta device.
    """

    def __torch_function__(
        self, func: Callable, types: Sequence[type], args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if getattr(func, "__module__", None) == "torch.nn.init" or func in _RANDOM:
            return args[0] if args else kwargs["tensor"]
        short = _SHORTER.get(func)
        found = None if short is None else short(*args, **kwargs)
        return func(*args, **kwargs) if found is None else found


def _attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, *args: Any, **kwargs: Any
) -> Tensor | None:
    if not query.is_meta or kwargs.get("enable_gqa") or key.shape[:-1] != value.shape[:-1]:
        return None
    scores = query @ key.transpose(-2, -1)
    if attn_mask is not None and torch.broadcast_shapes(scores.shape, attn_mask.shape) != scores.shape:
        return None
    return scores @ value


def _layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor | None:
    if not input.is_meta or weight is None or tuple(input.shape[-len(normalized_shape) :]) != tuple(weight.shape):
        return None
    return input * weight


#: By function, the shorter form; it returns None where only the function itself tells what is wrong.
_SHORTER: dict[Callable, Callable] = {F.scaled_dot_product_attention: _attention, F.layer_norm: _layer_norm}


@contextmanager
def on_meta() -> Iterator[None]:
    """Make tensors and modules on the meta device, with shapes but no memory behind them."""
    with torch.device("meta"), _ShapesAlone():
        yield
