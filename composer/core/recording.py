"""What blocks record in a forward pass: attention weights, layers, terms of sums for the law ``signals``, and losses.

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

A block adds an auxiliary loss to those of the heads, such as the load balancing loss of mixture of experts:

    def forward(self, x: Seq) -> Seq:
        ...
        if self.training and self.balance:
            add_loss(self, "balance", value, weight=self.balance)

Training collects the auxiliary losses of a forward pass, minimises their weighted sum together with the heads' losses,
and logs the mean of each by its name. A block computes its loss in every training pass, even outside of
``collect_losses``: activation checkpointing recomputes the forward pass in the backward pass, where nothing is
collected, but the same operations have to run again.

The four recorders below are the only state of a process that blocks write to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from torch import Tensor, nn

from composer.core.signals import Seq, Signal
from composer.core.streaming.streaming_copy import original

T = TypeVar("T")
Collection = TypeVar("Collection")

#: By module, what it recorded, in the order of its calls.
Seen = dict[nn.Module, list[T]]


@dataclass(frozen=True)
class Sum:
    """The terms of one addition by name, and why some of them may be small beside the others."""

    terms: Mapping[str, Signal]
    small: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AuxiliaryLoss:
    """One auxiliary loss of one forward pass.

    name: the name in the logs, after the name of the module's node
    value: (B,), one number per row that depends on no other row, so that a batch may be computed in micro-batches
    weight: the factor of the mean over all rows in the total loss
    """

    module: nn.Module
    name: str
    value: Tensor
    weight: float


class Recorder(Generic[Collection]):
    """One kind of record: every ``with recorder() as found`` that is open now has a collection of its own."""

    def __init__(self, empty: Callable[[], Collection]) -> None:
        self.empty = empty
        self.collections: list[Collection] = []

    @contextmanager
    def __call__(self) -> Iterator[Collection]:
        self.collections.append(self.empty())
        try:
            yield self.collections[-1]
        finally:
            self.collections.pop()


#: Collects the attention weights that modules record inside a ``with``, by module.
watch: Recorder[Seen[Tensor]] = Recorder(dict)

#: Collects the sums that modules record inside a ``with``, by module.
watch_sums: Recorder[Seen[Sum]] = Recorder(dict)

#: Collects the layers that modules record inside a ``with``, by module, with their gradients.
watch_layers: Recorder[Seen[Seq]] = Recorder(dict)

#: Collects the auxiliary losses that blocks add inside a ``with``.
collect_losses: Recorder[list[AuxiliaryLoss]] = Recorder(list)


def show(module: nn.Module, make: Callable[[], Tensor]) -> None:
    """Record the tensor that ``make`` computes, if a ``watch`` is active."""
    if watch.collections:
        _record(watch, module, make().detach())


def show_terms(module: nn.Module, make: Callable[[], Mapping[str, Signal]], **small: str) -> None:
    """Record the terms that a module adds up, by name, if a ``watch_sums`` is active.

    small: the names of terms that may be much smaller than the others at initialisation, each with the reason
    """
    if watch_sums.collections:
        _record(watch_sums, module, Sum(make(), small))


def show_layer(module: nn.Module, x: Seq) -> None:
    """Record the input of the module's next layer, or the output of its last one, if a ``watch_layers`` is active."""
    if watch_layers.collections:
        _record(watch_layers, module, x)


def _record(recorder: Recorder[Seen[T]], module: nn.Module, value: T) -> None:
    for seen in recorder.collections:
        seen.setdefault(original(module), []).append(value)


def add_loss(module: nn.Module, name: str, value: Tensor, weight: float) -> None:
    """Add a block's auxiliary loss, (B,), to the loss of this training step."""
    for found in collect_losses.collections:
        found.append(AuxiliaryLoss(module, name, value, weight))
