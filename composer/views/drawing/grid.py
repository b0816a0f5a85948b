"""The layer of each box, and the order of the boxes within a layer: the first half of Sugiyama's method.

Layers come from the longest path, the order from barycenter sweeps. A link that spans several layers gets a point in
each layer it crosses, so that the order and later the coordinates make room for the link. Links from one box share
these points: they carry the same signal, and one trunk with branches reads better than a bundle of parallel lines.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from itertools import pairwise

SWEEPS = 16
EXCHANGES = 8
LANE = 14.0  # the width kept free for a line between boxes


@dataclass(frozen=True)
class Link:
    """A line to draw from one box down to another."""

    source: str
    target: str
    main: bool = False  # enters the target in the middle
    loose: bool = False  # drawn, but without influence on the layers of its boxes

    @property
    def ends(self) -> tuple[str, str]:
        return self.source, self.target


@dataclass(eq=False)
class Vertex:
    """A box, or (without a name) the place where long links pass through a layer.

    place: the position in the layer, from the left
    x: the centre
    """

    layer: int
    width: float
    height: float
    name: str | None = None
    place: int = 0
    x: float = 0.0


#: The neighbours of every vertex in the layer above, or in the layer below.
Neighbours = dict[Vertex, list[Vertex]]


@dataclass
class LayerGrid:
    layers: list[list[Vertex]]  # vertices from left to right
    vertices: list[Vertex] = field(default_factory=list)
    chains: list[tuple[Vertex, ...]] = field(default_factory=list)  # for each link, its vertices from top to bottom

    def add(self, vertex: Vertex) -> Vertex:
        vertex.place = len(self.layers[vertex.layer])
        self.layers[vertex.layer].append(vertex)
        self.vertices.append(vertex)
        return vertex

    def arrange(self, layers: Iterable[Iterable[Vertex]]) -> None:
        """Take over an order of every layer's vertices."""
        self.layers = [list(layer) for layer in layers]
        for layer in self.layers:
            _number(layer)


def _number(layer: Iterable[Vertex]) -> None:
    for place, vertex in enumerate(layer):
        vertex.place = place


def layered(sizes: Mapping[str, tuple[float, float]], links: Sequence[Link], bottom: Collection[str]) -> LayerGrid:
    """Boxes and links on a grid, ordered for few crossings; boxes of ``bottom`` without readers in the last layer."""
    rank = _ranks(sizes, links, bottom)
    grid = LayerGrid(layers=[[] for _ in range(max(rank.values(), default=-1) + 1)])
    boxes = {name: grid.add(Vertex(rank[name], *size, name)) for name, size in sizes.items()}
    trunks: dict[tuple[str, bool, int], Vertex] = {}
    for link in links:
        upper, lower = sorted(link.ends, key=rank.__getitem__)
        points = []
        for layer in range(rank[upper] + 1, rank[lower]):
            key = (upper, link.loose, layer)
            if key not in trunks:
                trunks[key] = grid.add(Vertex(layer, LANE, 0.0))
            points.append(trunks[key])
        grid.chains.append((boxes[upper], *points, boxes[lower]))
    _order(grid)
    return grid


def _ranks(names: Iterable[str], links: Sequence[Link], bottom: Collection[str]) -> dict[str, int]:
    sources: dict[str, list[str]] = {name: [] for name in names}
    for link in links:
        if not link.loose:
            sources[link.target].append(link.source)
    rank: dict[str, int] = {}
    for name in TopologicalSorter(sources).static_order():
        rank[name] = 1 + max((rank[source] for source in sources[name]), default=-1)
    used = {source for each in sources.values() for source in each}
    last = max(rank.values(), default=0)
    return {name: last if name in bottom and name not in used else rank[name] for name in sources}


def _order(grid: LayerGrid) -> None:
    """Sort each layer by its neighbours' barycenters, down and up in turn, and keep the order with fewest crossings."""
    above: Neighbours = defaultdict(list)
    below: Neighbours = defaultdict(list)
    for upper, lower in dict.fromkeys(hop for chain in grid.chains for hop in pairwise(chain)):
        if upper.layer != lower.layer:
            above[lower].append(upper)
            below[upper].append(lower)

    # Sweeps find a local optimum, so they start from several orders: long lines on the right, on the left, mirrored.
    given = grid.layers
    lanes_first = [sorted(layer, key=lambda vertex: vertex.name is not None) for layer in given]
    best, fewest = given, _crossings(grid, below)
    for start in (given, lanes_first, [layer[::-1] for layer in given]):
        grid.arrange(start)
        for sweep in range(SWEEPS):
            if fewest == 0:
                break
            down = sweep % 2 == 0
            for layer in grid.layers if down else grid.layers[::-1]:
                _sort(grid, layer, above if down else below)
            if sweep >= SWEEPS - 2:
                _exchange(grid, above, below)
            crossings = _crossings(grid, below)
            if crossings < fewest:
                best, fewest = [list(layer) for layer in grid.layers], crossings
    grid.arrange(best)


def _sort(grid: LayerGrid, layer: list[Vertex], neighbours: Neighbours) -> None:
    def centre(vertex: Vertex) -> float:
        # Places are relative to the layer's length, so that a vertex without neighbours can be compared by its own.
        near = neighbours[vertex] or [vertex]
        return sum((other.place + 0.5) / len(grid.layers[other.layer]) for other in near) / len(near)

    layer[:] = sorted(layer, key=centre)
    _number(layer)


def _crossings(grid: LayerGrid, below: Neighbours) -> int:
    total = 0
    for layer in grid.layers:
        seen: list[int] = []
        for upper in layer:
            ends = [lower.place for lower in below[upper]]
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _exchange(grid: LayerGrid, above: Neighbours, below: Neighbours) -> None:
    """Swap neighbours in a layer while that saves crossings, which barycenters leave behind on ties."""

    def between(left: Vertex, right: Vertex) -> int:
        return sum(a.place > b.place for ends in (above, below) for a in ends[left] for b in ends[right])

    for _ in range(EXCHANGES):
        better = False
        for layer in grid.layers:
            for i in range(len(layer) - 1):
                left, right = layer[i], layer[i + 1]
                if between(left, right) > between(right, left):
                    layer[i], layer[i + 1] = right, left
                    left.place, right.place = i + 1, i
                    better = True
        if not better:
            return
