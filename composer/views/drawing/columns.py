"""The x coordinates of the vertices of a layered grid: near their neighbours, with long lines straight.

Each layer in turn is moved towards its neighbours by least squares under its order and spacing, which isotonic
regression solves exactly. Lines that are then almost straight are made straight where there is room.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from composer.views.drawing.grid import LayerGrid, Vertex

BETWEEN = 28.0  # space between a box and the next box or line
BETWEEN_LINES = 6.0  # space between two lines, in addition to the width of their lanes
PASSES = 24  # sweeps of the least squares over all layers
ROUNDS = 8  # rounds of straightening
SNAP = 9.0  # a line that deviates less than this is made straight


@dataclass(frozen=True)
class Hop:
    """A piece of a line from one layer to the next. The piece is straight if ``lower.x == upper.x + shift``."""

    upper: Vertex
    lower: Vertex
    shift: float
    weight: float
    merges: bool = False  # one of several equal lines into a box: the box is centred below all of them, not below one


#: Of every vertex, its neighbours, each with the x relative to the neighbour's at which their line is straight, and the
#: weight of that line.
Pulls = dict[Vertex, list[tuple[Vertex, float, float]]]


def columns(grid: LayerGrid, hops: Sequence[Hop]) -> None:
    """Set the centre of every vertex; the leftmost edge is at zero."""
    above: Pulls = defaultdict(list)
    below: Pulls = defaultdict(list)
    for hop in hops:
        above[hop.lower].append((hop.upper, hop.shift, hop.weight))
        below[hop.upper].append((hop.lower, -hop.shift, hop.weight))
    both = {vertex: [*above[vertex], *below[vertex]] for vertex in grid.vertices}

    for layer in grid.layers:
        _settle(layer, [0.0] * len(layer), [1.0] * len(layer))
    for sweep in range(PASSES):
        down = sweep % 2 == 0
        one_sided = sweep < PASSES // 2  # first propagate positions through all layers, then balance both sides
        pulls = both if not one_sided else above if down else below
        for layer in grid.layers if down else grid.layers[::-1]:
            targets, weights = [], []
            for vertex in layer:
                # A weak pull to the current position keeps vertices without neighbours where they are.
                near = [(vertex.x, 1e-3), *((other.x + shift, weight) for other, shift, weight in pulls[vertex])]
                weights.append(sum(weight for _, weight in near))
                targets.append(sum(x * weight for x, weight in near) / weights[-1])
            _settle(layer, targets, weights)

    strands = _strands(grid.vertices, hops)
    for _ in range(ROUNDS):
        for strand in strands:
            _straighten(grid, strand, both)
    left = min((vertex.x - vertex.width / 2 for vertex in grid.vertices), default=0.0)
    for vertex in grid.vertices:
        vertex.x -= left


def _distance(left: Vertex, right: Vertex) -> float:
    """The least distance between the centres of two neighbours in a layer."""
    return (left.width + right.width) / 2 + (BETWEEN_LINES if left.name is None and right.name is None else BETWEEN)


def _settle(layer: Sequence[Vertex], targets: Sequence[float], weights: Sequence[float]) -> None:
    """Move a layer as near to its target positions as order and spacing allow (isotonic regression).

    Neighbours that would collide are pooled and move together.
    """
    offset = 0.0
    offsets = []
    pools: list[tuple[float, float, int]] = []  # (mean target, weight, vertices), means increasing
    for i, vertex in enumerate(layer):
        offset += _distance(layer[i - 1], vertex) if i else 0.0
        offsets.append(offset)
        mean, weight, count = targets[i] - offset, weights[i], 1
        while pools and pools[-1][0] > mean:
            other_mean, other_weight, other_count = pools.pop()
            mean = (mean * weight + other_mean * other_weight) / (weight + other_weight)
            weight, count = weight + other_weight, count + other_count
        pools.append((mean, weight, count))
    settled = [mean for mean, _, count in pools for _ in range(count)]
    for vertex, base, offset in zip(layer, settled, offsets, strict=True):
        vertex.x = base + offset


Strand = list[tuple[Vertex, float]]  # vertices from top to bottom, each with its x relative to the first vertex


def _strands(vertices: Sequence[Vertex], hops: Sequence[Hop]) -> list[Strand]:
    """Disjoint paths that should be straight, chosen greedily: hops with the largest weight come first."""
    following: dict[Vertex, Hop] = {}
    leading: dict[Vertex, Hop] = {}
    for hop in sorted(hops, key=lambda hop: -hop.weight):
        if not hop.merges and hop.upper not in following and hop.lower not in leading:
            following[hop.upper] = leading[hop.lower] = hop
    strands = []
    for vertex in vertices:
        if vertex in leading:
            continue
        strand = [(vertex, 0.0)]
        while strand[-1][0] in following:
            hop = following[strand[-1][0]]
            strand.append((hop.lower, strand[-1][1] + hop.shift))
        strands.append(strand)
    return sorted(strands, key=len, reverse=True)


def _straighten(grid: LayerGrid, strand: Strand, neighbours: Pulls) -> None:
    """Straighten the longest pieces of the strand that fit between their neighbours, by one common x each."""
    start = 0
    while start < len(strand):
        low, high = float("-inf"), float("inf")
        stop = start
        for vertex, shift in strand[start:]:
            layer, place = grid.layers[vertex.layer], vertex.place
            least, most = float("-inf"), float("inf")
            if place:
                least = layer[place - 1].x + _distance(layer[place - 1], vertex)
            if place + 1 < len(layer):
                most = layer[place + 1].x - _distance(vertex, layer[place + 1])
            if max(low, least - shift) > min(high, most - shift):
                break
            low, high, stop = max(low, least - shift), min(high, most - shift), stop + 1
        if stop == start:  # rounding errors left no room: skip this vertex
            start += 1
            continue
        piece = strand[start:stop]
        members = {vertex for vertex, _ in piece}
        # The piece is pulled by its neighbours outside of it; a piece without any stays at its mean.
        pulls = [(sum(vertex.x - shift for vertex, shift in piece) / len(piece), 0.1)]
        pulls += [
            (other.x + apart - shift, weight)
            for vertex, shift in piece
            for other, apart, weight in neighbours[vertex]
            if other not in members
        ]
        base = sum(x * weight for x, weight in pulls) / sum(weight for _, weight in pulls)
        # A line that is almost straight looks like a mistake, so it is made straight.
        near = [x for x, _ in pulls[1:] if low <= x <= high and abs(x - base) < SNAP]
        base = min(near, key=lambda x: abs(x - base)) if near else min(max(base, low), high)
        for vertex, shift in piece:
            vertex.x = base + shift
        start = stop
