"""The places of labels on lines: between two layers, without overlapping boxes, other lines or other labels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from composer.views.drawing.cards import SMALL, text_width
from composer.views.drawing.graph_layout import Box, GraphLayout, Point, Route, along

HEIGHT = 15.0
CELL = 48.0
STEPS = (0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73)  # where on a curve a label may sit, the best first
SAMPLES = 24


class _Drawn:
    """The boxes and lines drawn so far, in a grid of cells, to count what a label would overlap."""

    def __init__(self) -> None:
        self.points: dict[tuple[int, int], list[tuple[Point, str]]] = defaultdict(list)
        self.boxes: dict[tuple[int, int], list[Box]] = defaultdict(list)

    def add_line(self, points: Iterable[Point], owner: str) -> None:
        for point in points:
            self.points[int(point[0] // CELL), int(point[1] // CELL)].append((point, owner))

    def add_box(self, box: Box) -> None:
        for cell in _cells(box):
            self.boxes[cell].append(box)

    def conflicts(self, box: Box, owner: str) -> int:
        lines = sum(box.holds(point) and other != owner for cell in _cells(box) for point, other in self.points[cell])
        boxes = sum(box.overlaps(other) for cell in _cells(box) for other in self.boxes[cell])
        return lines + 100 * boxes


def _cells(box: Box) -> list[tuple[int, int]]:
    columns = range(int(box.x // CELL), int(box.right // CELL) + 1)
    return [(column, row) for column in columns for row in range(int(box.y // CELL), int(box.bottom // CELL) + 1)]


def place_labels(layout: GraphLayout, labels: Sequence[tuple[str, bool]]) -> list[Box | None]:
    """A place for the label of each line: its text, and whether it is needed, even where it overlaps something.

    None for a label that is not needed and finds no free place.
    """
    drawn = _Drawn()
    for box in layout.boxes.values():
        drawn.add_box(box)
    for route in layout.routes:
        drawn.add_line(route.samples(SAMPLES), _owner(route))
    places: list[Box | None] = [None] * len(labels)
    labelled: set[tuple[str, float]] = set()  # between two layers, a signal's shape is shown only once
    for index in sorted(range(len(labels)), key=lambda index: not labels[index][1]):
        (text, needed), route = labels[index], layout.routes[index]
        width, owner = text_width(text, SMALL) + 8.0, _owner(route)
        # A port's name belongs at the end of its line; the label of a loose link may stand anywhere along the line.
        middle = len(route.bends) // 2
        curves = route.bends[middle:] + route.bends[:middle] if route.link.loose else route.bends[-1:]
        best, fewest = None, 0
        for curve in curves:
            if not needed and (owner, curve[3][1]) in labelled:
                continue
            for step in STEPS:
                x, y = along(curve, step)
                box = Box(x - width / 2, y - HEIGHT / 2, width, HEIGHT)
                conflicts = drawn.conflicts(box, owner)
                if best is None or conflicts < fewest:
                    best, fewest = box, conflicts
        if best is not None and (needed or fewest == 0):
            places[index] = best
            drawn.add_box(best)
            labelled.add((owner, route.bends[-1][3][1]))
    return places


def _owner(route: Route) -> str:
    """The signal of a line. A label may overlap other lines of the same signal."""
    return f"{'loose' if route.link.loose else 'signal'} {route.link.source}"
