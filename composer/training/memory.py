"""Training in less memory: activation checkpointing (``trainer.recompute``) and sharded weights (FSDP).

Both are applied to each sublayer of every container in the graph. A container is any block with a method ``sublayers``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from composer.core.capabilities import offers
from composer.core.streaming.streaming_copy import ForwardWrapper
from composer.graph.graph import Graph


def sublayers(graph: Graph) -> Iterator[nn.Module]:
    """The sublayers of every container in the graph."""
    for module in graph.modules():
        if offers(module, "sublayers"):
            yield from module.sublayers()  # type: ignore[operator]


def recompute_sublayers(graph: Graph) -> None:
    """Activation checkpointing: discard each sublayer's activations and recompute them in the backward pass."""
    for module in sublayers(graph):
        Recomputed(module)


class Recomputed(ForwardWrapper):
    """Discards the activations of a module's ``forward`` where a gradient is computed."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not torch.is_grad_enabled():
            return self.wrapped(*args, **kwargs)
        return checkpoint(self.wrapped, *args, use_reentrant=False, **kwargs)


def shard_weights(graph: Graph, mesh: Any) -> None:
    """Shard the weights of every sublayer, and the remaining weights of the graph, over the processes of a mesh."""
    from torch.distributed.fsdp import fully_shard

    for module in sublayers(graph):
        fully_shard(module, mesh=mesh)
    fully_shard(graph, mesh=mesh)
