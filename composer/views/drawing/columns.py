"""Where each vertex of a layered grid stands from left to right: near its neighbours, long lines straight.

Each layer in turn is moved towards its neighbours by least squares under its order and spacing, which isotonic
regression solves exactly. What then runs almost straight is made quite straight where there is room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from composer.views.drawing.layers import Grid

BETWEEN = 28.0  # from box to box or line
ABREAST = 6.0  # from line to line, beside the lanes' own width
PASSES = 24
ROUNDS = 8
SNAP = 9.0


@dataclass(frozen=True)
class Hop:
    """A piece of line from one layer to the next: it is straight where ``x[lower] == x[upper] + shift``."""

    upper: int
    lower: int
    shift: float
    weight: float
    merges: bool = False  # one of several equals into a box, which stands in their middle rather than below one


def columns(grid: Grid, hops: Sequence[Hop]) -> list[float]:
    """The centre of every vertex; the leftmost edge is at zero."""
    above: list[list[Hop]] = [[] for _ in grid.vertices]
    below: list[list[Hop]] = [[] for _ in grid.vertices]
    for hop in hops:
        above[hop.lower].append(hop)
        below[hop.upper].append(hop)

    xs = [0.0] * len(grid.vertices)
    for layer in grid.layers:
        _settle(grid, layer, xs, [0.0] * len(layer), [1.0] * len(layer))
    for sweep in range(PASSES):
        down = sweep % 2 == 0
        one_sided = sweep < PASSES // 2  # first let news travel through all layers, then find the balance
        for layer in grid.layers if down else grid.layers[::-1]:
            wishes, weights = [], []
            for vertex in layer:
                # A faint wish to stay keeps vertices without neighbours where they are.
                pulls = [(xs[vertex], 1e-3)]
                if down or not one_sided:
                    pulls += [(xs[hop.upper] + hop.shift, hop.weight) for hop in above[vertex]]
                if not down or not one_sided:
                    pulls += [(xs[hop.lower] - hop.shift, hop.weight) for hop in below[vertex]]
                weights.append(sum(weight for _, weight in pulls))
                wishes.append(sum(x * weight for x, weight in pulls) / weights[-1])
            _settle(grid, layer, xs, wishes, weights)

    strands = _strands(grid, hops)
    for _ in range(ROUNDS):
        for strand in strands:
            _straighten(grid, strand, xs, above, below)
    left = min((x - vertex.width / 2 for x, vertex in zip(xs, grid.vertices, strict=True)), default=0.0)
    return [x - left for x in xs]


def _apart(grid: Grid, left: int, right: int) -> float:
    """The least distance between the centres of two neighbours in a layer."""
    a, b = grid.vertices[left], grid.vertices[right]
    return (a.width + b.width) / 2 + (ABREAST if a.name is None and b.name is None else BETWEEN)


def _settle(
    grid: Grid, layer: Sequence[int], xs: list[float], wishes: Sequence[float], weights: Sequence[float]
) -> None:
    """Move a layer as near to its wishes as order and spacing allow: neighbours that would collide move as one."""
    offset = 0.0
    offsets = []
    pools: list[tuple[float, float, int]] = []  # (mean wish, weight, vertices), means increasing
    for i, vertex in enumerate(layer):
        offset += _apart(grid, layer[i - 1], vertex) if i else 0.0
        offsets.append(offset)
        mean, weight, count = wishes[i] - offset, weights[i], 1
        while pools and pools[-1][0] > mean:
            other, heft, more = pools.pop()
            mean, weight, count = (mean * weight + other * heft) / (weight + heft), weight + heft, count + more
        pools.append((mean, weight, count))
    settled = [mean for mean, _, count in pools for _ in range(count)]
    for vertex, base, offset in zip(layer, settled, offsets, strict=True):
        xs[vertex] = base + offset


Strand = list[tuple[int, float]]  # vertices from top to bottom, with what each adds to the first one's x


def _strands(grid: Grid, hops: Sequence[Hop]) -> list[Strand]:
    """Disjoint paths that ought to be straight: the heaviest hops claim their ends first."""
    following: dict[int, Hop] = {}
    leading: dict[int, Hop] = {}
    for hop in sorted(hops, key=lambda hop: -hop.weight):
        if not hop.merges and hop.upper not in following and hop.lower not in leading:
            following[hop.upper] = leading[hop.lower] = hop
    strands = []
    for vertex in range(len(grid.vertices)):
        if vertex in leading:
            continue
        strand = [(vertex, 0.0)]
        while strand[-1][0] in following:
            hop = following[strand[-1][0]]
            strand.append((hop.lower, strand[-1][1] + hop.shift))
        strands.append(strand)
    return sorted(strands, key=len, reverse=True)


def _straighten(grid: Grid, strand: Strand, xs: list[float], above: list[list[Hop]], below: list[list[Hop]]) -> None:
    """Give as long pieces of the strand as fit between their neighbours one common x."""
    places = {vertex: grid.layers[grid.vertices[vertex].layer].index(vertex) for vertex, _ in strand}
    start = 0
    while start < len(strand):
        low, high = float("-inf"), float("inf")
        stop = start
        for vertex, shift in strand[start:]:
            layer, place = grid.layers[grid.vertices[vertex].layer], places[vertex]
            least = xs[layer[place - 1]] + _apart(grid, layer[place - 1], vertex) if place else float("-inf")
            most = (
                xs[layer[place + 1]] - _apart(grid, vertex, layer[place + 1])
                if place + 1 < len(layer)
                else float("inf")
            )
            if max(low, least - shift) > min(high, most - shift):
                break
            low, high, stop = max(low, least - shift), min(high, most - shift), stop + 1
        if stop == start:  # rounding left no room at all: leave it
            start += 1
            continue
        piece = strand[start:stop]
        members = {vertex for vertex, _ in piece}
        # Pulled by what is outside of the piece; a piece without ties stays at its mean.
        pulls = [(sum(xs[vertex] - shift for vertex, shift in piece) / len(piece), 0.1)]
        for vertex, shift in piece:
            pulls += [
                (xs[hop.upper] + hop.shift - shift, hop.weight) for hop in above[vertex] if hop.upper not in members
            ]
            pulls += [
                (xs[hop.lower] - hop.shift - shift, hop.weight) for hop in below[vertex] if hop.lower not in members
            ]
        base = sum(x * weight for x, weight in pulls) / sum(weight for _, weight in pulls)
        # A line that is all but straight looks like a mistake: rather quite straight.
        near = [x for x, _ in pulls[1:] if low <= x <= high and abs(x - base) < SNAP]
        base = min(near, key=lambda x: abs(x - base)) if near else min(max(base, low), high)
        for vertex, shift in piece:
            xs[vertex] = base + shift
        start = stop
