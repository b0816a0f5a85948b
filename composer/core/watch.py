"""Recording intermediate values of a forward pass: attention weights, layers, terms of sums for the law ``signals``.

    with watch() as seen:
        graph(inputs)
    seen[graph.nodes["decoder"].layers[0]["mixer"].call.block]  # a list, one tensor (B, H, T, S) per call

    with watch_sums() as sums:
        graph(inputs)
    sums[graph.nodes["decoder"].position.block]  # a list, one Sum per call

    with watch_layers() as layers:
        graph(inputs)
    layers[graph.nodes["decoder"]]  # a list of sequences (B, T, D): the input of every layer, then the output

A block records its attention weights with ``show(self, lambda: ...)``, the terms of an addition with
``show_terms(self, lambda: {...})`` and its layers with ``show_layer(self, x)``. The lambda runs only inside a ``watch``
or ``watch_sums``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from torch import Tensor, nn

from composer.core.signals import Seq, Signal
from composer.core.streaming_copy import original

T = TypeVar("T")

_watchers: list[dict[nn.Module, list[Tensor]]] = []
_sum_watchers: list[dict[nn.Module, list[Sum]]] = []
_layer_watchers: list[dict[nn.Module, list[Seq]]] = []


@dataclass(frozen=True)
class Sum:
    """The terms of one addition by name, and why some of them may be small beside the others."""

    terms: Mapping[str, Signal]
    small: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def watch() -> Iterator[dict[nn.Module, list[Tensor]]]:
    """Collect the attention weights that modules record inside this ``with``, by module."""
    with _watching(_watchers) as seen:
        yield seen


def show(module: nn.Module, make: Callable[[], Tensor]) -> None:
    """Record the tensor that ``make`` computes, if a ``watch`` is active."""
    if _watchers:
        _record(_watchers, module, make().detach())


@contextmanager
def watch_sums() -> Iterator[dict[nn.Module, list[Sum]]]:
    """Collect the sums that modules record inside this ``with``, by module."""
    with _watching(_sum_watchers) as seen:
        yield seen


def show_terms(module: nn.Module, make: Callable[[], Mapping[str, Signal]], **small: str) -> None:
    """Record the terms that a module adds up, by name, if a ``watch_sums`` is active.

    small: the names of terms that may be much smaller than the others at initialisation, each with the reason
    """
    if _sum_watchers:
        _record(_sum_watchers, module, Sum(make(), small))


@contextmanager
def watch_layers() -> Iterator[dict[nn.Module, list[Seq]]]:
    """Collect the layers that modules record inside this ``with``, by module, with their gradients."""
    with _watching(_layer_watchers) as seen:
        yield seen


def show_layer(module: nn.Module, x: Seq) -> None:
    """Record the input of the module's next layer, or the output of its last one, if a ``watch_layers`` is active."""
    if _layer_watchers:
        _record(_layer_watchers, module, x)


@contextmanager
def _watching(watchers: list[dict[nn.Module, list[T]]]) -> Iterator[dict[nn.Module, list[T]]]:
    seen: dict[nn.Module, list[T]] = {}
    watchers.append(seen)
    try:
        yield seen
    finally:
        watchers.pop()


def _record(watchers: list[dict[nn.Module, list[T]]], module: nn.Module, value: T) -> None:
    for seen in watchers:
        seen.setdefault(original(module), []).append(value)
