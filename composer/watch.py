"""Looking inside while a model runs: attention weights, for pictures.

    with watch() as seen:
        graph(inputs)
    seen[graph.nodes["decoder"].layers[0]["mixer"].call.block]  # a list, one tensor (B, H, T, S) a call

A block offers what it could show with ``show(self, lambda: ...)``. Nothing is computed unless somebody watches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

_watchers: list[dict[nn.Module, list[Tensor]]] = []


@contextmanager
def watch() -> Iterator[dict[nn.Module, list[Tensor]]]:
    """Collect what every module shows while the block of this ``with`` runs."""
    seen: dict[nn.Module, list[Tensor]] = {}
    _watchers.append(seen)
    try:
        yield seen
    finally:
        _watchers.pop()


def show(module: nn.Module, make: Callable[[], Tensor]) -> None:
    """Show the tensor that ``make`` computes, if anybody watches."""
    if _watchers:
        tensor = make().detach()
        for seen in _watchers:
            seen.setdefault(module, []).append(tensor)
