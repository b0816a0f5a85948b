"""The layout of a layered drawing: the places of boxes and the routes of lines, independent of what the boxes mean.

Lines bend only between layers, where there are no boxes, and cross a layer straight down in a lane of their own.
Therefore no line passes through a box, for any graph.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from composer.views.drawing.columns import Hop, columns
from composer.views.drawing.grid import LayerGrid, Link, Vertex, layered

__all__ = ["Box", "Curve", "GraphLayout", "Link", "Point", "Route", "lay_out"]

Point = tuple[float, float]
Curve = tuple[Point, Point, Point, Point]

PORTS = 44.0  # distance between the lines that enter a box from above, if the box is wide enough
INSET = 16.0  # least distance of such a line from the box's corner
GAP = 54.0  # between layers; up to SLOPE more if lines run far sideways
SLOPE = 60.0
STUB = 10.0  # the straight last piece of a line, with the arrowhead


@dataclass(frozen=True)
class Box:
    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    def overlaps(self, other: Box) -> bool:
        return self.x < other.right and other.x < self.right and self.y < other.bottom and other.y < self.bottom

    def holds(self, point: Point) -> bool:
        return self.x < point[0] < self.right and self.y < point[1] < self.bottom


@dataclass(frozen=True)
class Route:
    """The line of a link, as cubic Bezier curves."""

    link: Link
    curves: tuple[Curve, ...]

    @property
    def bends(self) -> tuple[Curve, ...]:
        """The curves between layers; the other curves run straight down through a layer."""
        return tuple(curve for curve in self.curves if curve[1][1] == curve[2][1])

    def samples(self, each: int = 8) -> list[Point]:
        """Points along the line, ``each`` of them per curve."""
        return [self.curves[0][0], *(along(curve, i / each) for curve in self.curves for i in range(1, each + 1))]


@dataclass(frozen=True)
class GraphLayout:
    boxes: dict[str, Box]
    routes: tuple[Route, ...]  # in the order of the links
    width: float
    height: float


def along(curve: Curve, t: float) -> Point:
    s = 1 - t
    weights = (s * s * s, 3 * s * s * t, 3 * s * t * t, t * t * t)
    x, y = (sum(weight * point[axis] for weight, point in zip(weights, curve, strict=True)) for axis in (0, 1))
    return x, y


def lay_out(
    sizes: Mapping[str, tuple[float, float]], links: Sequence[Link], bottom: Collection[str] = ()
) -> GraphLayout:
    """Place boxes of the given (width, height). Boxes of ``bottom`` without readers go to the last layer."""
    grid = layered(sizes, links, bottom)
    ports = _ports(grid, links)
    columns(grid, _hops(grid, links, ports))
    rows = _rows(grid)
    boxes = {}
    for vertex in grid.vertices:
        if vertex.name is not None:
            y = rows[vertex.layer].middle - vertex.height / 2
            boxes[vertex.name] = Box(vertex.x - vertex.width / 2, y, vertex.width, vertex.height)
    routes = tuple(
        Route(link, _curves(chain, ends, rows)) for link, chain, ends in zip(links, grid.chains, ports, strict=True)
    )
    width = max((vertex.x + vertex.width / 2 for vertex in grid.vertices), default=0.0)
    height = rows[-1].bottom + rows[-1].gap if rows else 0.0
    return GraphLayout(boxes, routes, width, height)


def _ports(grid: LayerGrid, links: Sequence[Link]) -> list[tuple[float, float]]:
    """The x at which each link leaves its upper box and enters its lower box, relative to the box's middle."""
    arrivals: dict[Vertex, list[int]] = defaultdict(list)
    departures: dict[Vertex, list[int]] = defaultdict(list)
    for number, chain in enumerate(grid.chains):
        departures[chain[0]].append(number)
        if not _flat(chain):
            arrivals[chain[-1]].append(number)

    start, end = [0.0] * len(links), [0.0] * len(links)
    # All signals leave a box from its middle; loose links leave beside the middle, on the side of their target.
    for box, numbers in departures.items():
        aside = box.width / 4
        signals = [grid.chains[number][1].place for number in numbers if not links[number].loose]
        middle = sum(signals) / len(signals) if signals else 0.0
        for number in numbers:
            chain = grid.chains[number]
            if _flat(chain):
                start[number] = aside if chain[1].place > box.place else -aside
                end[number] = -start[number] / aside * chain[1].width / 4
            elif links[number].loose:
                start[number] = aside if chain[1].place >= middle else -aside
    for box, numbers in arrivals.items():
        numbers.sort(key=lambda number: (grid.chains[number][-2].place, start[number]))
        main = [i for i, number in enumerate(numbers) if links[number].main]
        middle = main[0] if main else (len(numbers) - 1) / 2
        reach = max(middle, len(numbers) - 1 - middle, 1)
        step = min(PORTS, (box.width / 2 - INSET) / reach)
        for i, number in enumerate(numbers):
            end[number] = (i - middle) * step
    return list(zip(start, end, strict=True))


def _hops(grid: LayerGrid, links: Sequence[Link], ports: Sequence[tuple[float, float]]) -> list[Hop]:
    """The pieces of lines with their weights for ``columns``: large for long trunks, small for loose links."""
    hops: dict[tuple[Vertex, Vertex, float], Hop] = {}
    arrivals = Counter(chain[-1] for link, chain in zip(links, grid.chains, strict=True) if not link.loose)
    for link, chain, (start, end) in zip(links, grid.chains, ports, strict=True):
        if _flat(chain):
            continue
        for upper, lower in pairwise(chain):
            shift = (start if upper is chain[0] else 0.0) - (end if lower is chain[-1] else 0.0)
            points = (upper.name is None) + (lower.name is None)
            weight = (1.0, 2.0, 8.0)[points] * (0.2 if link.loose and points < 2 else 1.5 if link.main else 1.0)
            merges = lower is chain[-1] and not link.main and arrivals[lower] > 1
            hops[upper, lower, shift] = Hop(upper, lower, shift, weight, merges)
    return list(hops.values())


@dataclass(frozen=True)
class _Row:
    top: float
    bottom: float
    gap: float  # space below the row

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


def _rows(grid: LayerGrid) -> list[_Row]:
    sideways = [0.0] * len(grid.layers)  # the largest horizontal distance of a line below each layer
    bows = [False] * len(grid.layers)
    for chain in grid.chains:
        bows[chain[0].layer] |= _flat(chain)
        for upper, lower in pairwise(chain):
            sideways[upper.layer] = max(sideways[upper.layer], abs(upper.x - lower.x))
    rows: list[_Row] = []
    for number, vertices in enumerate(grid.layers):
        top = rows[-1].bottom + rows[-1].gap if rows else 0.0
        last = number == len(grid.layers) - 1
        gap = 0.0 if last and not bows[number] else GAP + min(SLOPE, 0.1 * sideways[number])
        rows.append(_Row(top, top + max(vertex.height for vertex in vertices), gap))
    return rows


def _flat(chain: Sequence[Vertex]) -> bool:
    """Whether a (loose) link joins two boxes of one layer."""
    return chain[0].layer == chain[-1].layer


def _curves(chain: Sequence[Vertex], ends: tuple[float, float], rows: Sequence[_Row]) -> tuple[Curve, ...]:
    first, last, row = chain[0], chain[-1], rows[chain[0].layer]
    x, goal = first.x + ends[0], last.x + ends[1]
    curves = list(_straight(x, row.middle + first.height / 2, row.bottom))
    if _flat(chain):  # a curve below the two boxes
        depth = row.bottom + row.gap - STUB
        curves.append(((x, row.bottom), (x, depth), (goal, depth), (goal, row.bottom)))
        return (*curves, *_straight(goal, row.bottom, row.middle + last.height / 2))

    y = row.bottom
    for vertex in chain[1:]:
        row = rows[vertex.layer]
        there, below = (goal, row.middle - last.height / 2) if vertex is last else (vertex.x, row.bottom)
        middle = (y + row.top - STUB) / 2
        curves.append(((x, y), (x, middle), (there, middle), (there, row.top - STUB)))
        curves += _straight(there, row.top - STUB, below)
        x, y = there, below
    return tuple(curves)


def _straight(x: float, start: float, end: float) -> tuple[Curve, ...]:
    third = (end - start) / 3
    return (((x, start), (x, start + third), (x, end - third), (x, end)),) if start != end else ()
