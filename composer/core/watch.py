"""Recording intermediate values of a forward pass: attention weights, and the terms of sums for the law ``signals``.

    with watch() as seen:
        graph(inputs)
    seen[graph.nodes["decoder"].layers[0]["mixer"].call.block]  # a list, one tensor (B, H, T, S) per call

    with watch_sums() as sums:
        graph(inputs)
    sums[graph.nodes["decoder"].position.block]  # a list, one Sum per call

A block records its attention weights with ``show(self, lambda: ...)`` and the terms of an addition with
``show_terms(self, lambda: {...})``. The lambda runs only inside a ``watch`` or ``watch_sums``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from torch import Tensor, nn

from composer.core.signals import Signal
from composer.core.streaming_copy import original

_watchers: list[dict[nn.Module, list[Tensor]]] = []
_sum_watchers: list[dict[nn.Module, list[Sum]]] = []


@dataclass(frozen=True)
class Sum:
    """The terms of one addition by name, and why some of them may be small beside the others."""

    terms: Mapping[str, Signal]
    small: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def watch() -> Iterator[dict[nn.Module, list[Tensor]]]:
    """Collect the attention weights that modules record inside this ``with``, by module."""
    seen: dict[nn.Module, list[Tensor]] = {}
    _watchers.append(seen)
    try:
        yield seen
    finally:
        _watchers.pop()


def show(module: nn.Module, make: Callable[[], Tensor]) -> None:
    """Record the tensor that ``make`` computes, if a ``watch`` is active."""
    if _watchers:
        tensor = make().detach()
        for seen in _watchers:
            seen.setdefault(original(module), []).append(tensor)


@contextmanager
def watch_sums() -> Iterator[dict[nn.Module, list[Sum]]]:
    """Collect the sums that modules record inside this ``with``, by module."""
    seen: dict[nn.Module, list[Sum]] = {}
    _sum_watchers.append(seen)
    try:
        yield seen
    finally:
        _sum_watchers.pop()


def show_terms(module: nn.Module, make: Callable[[], Mapping[str, Signal]], **small: str) -> None:
    """Record the terms that a module adds up, by name, if a ``watch_sums`` is active.

    small: the names of terms that may be much smaller than the others at initialisation, each with the reason
    """
    if _sum_watchers:
        found = Sum(make(), small)
        for seen in _sum_watchers:
            seen.setdefault(original(module), []).append(found)
