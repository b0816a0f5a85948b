"""A panel: the cards, the layout and the labels of one graph, ready to draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from composer.views.drawing import captions
from composer.views.drawing.captions import Summary
from composer.views.drawing.cards import Card, text_width
from composer.views.drawing.graph_layout import Box, GraphLayout, Link, Route, lay_out
from composer.views.drawing.labels import place_labels

SHARED = "shared weights"
SIDES = ("before", "after")  # of a comparison
HEADING, TOTALS = 15.0, 12.0  # font sizes


class Wire(NamedTuple):
    """A link of a graph with its port and its label: the port's name (``named``), or the shape of its signal."""

    link: Link
    port: str
    label: str
    named: bool


class Line(NamedTuple):
    """A line of a panel, with its label and the label's place, if there is room for the label."""

    route: Route
    text: str
    label: Box | None
    fresh: bool  # whether the other graph of a comparison does not have the line


@dataclass(frozen=True)
class Panel:
    cards: Sequence[Card]
    layout: GraphLayout
    lines: Sequence[Line]
    heading: str  # in a comparison, the title of the graph
    totals: str
    side: str = ""  # in a comparison: before or after

    @property
    def labels(self) -> list[Box]:
        return [line.label for line in self.lines if line.label is not None]

    @property
    def left(self) -> float:
        return min([0.0, *(label.x for label in self.labels)])

    @property
    def width(self) -> float:
        """The width of the drawing, including labels that extend beyond its boxes."""
        return max([self.layout.width, *(label.right for label in self.labels)]) - self.left

    @property
    def heading_width(self) -> float:
        return (
            max(text_width(self.heading, HEADING, bold=True), text_width(self.totals, TOTALS)) if self.heading else 0.0
        )


def panel(
    summary: Summary, shown: Sequence[Card], other: Summary | None = None, heading: str = "", side: str = ""
) -> Panel:  # fmt: skip
    """The panel of the graph ``summary`` with the cards ``shown``; ``other`` is the graph to compare with."""
    every = list(wires(summary))
    known = {(*wire.link.ends, wire.port) for wire in (every if other is None else wires(other))}
    heads = [node["name"] for node in summary["nodes"] if node.get("predicts")]
    layout = lay_out({card.name: (card.width, card.height) for card in shown}, [wire.link for wire in every], heads)
    labels = place_labels(layout, [(wire.label, wire.named) for wire in every])
    lines = [
        Line(route, wire.label, label, (*wire.link.ends, wire.port) not in known)
        for route, wire, label in zip(layout.routes, every, labels, strict=True)
    ]
    return Panel(shown, layout, lines, heading, captions.totals(summary), side)


def wires(summary: Summary) -> Iterator[Wire]:
    shapes = captions.shapes(summary)
    for node in summary["nodes"]:
        for number, (port, sources) in enumerate(node["from"].items()):
            for source in sources:
                link = Link(source, node["name"], main=number == 0 and len(sources) == 1)
                yield Wire(link, port, port if number else shapes[source], number > 0)
        for owner in node.get("shares", ()):
            if owner != node["name"]:
                yield Wire(Link(owner, node["name"], loose=True), SHARED, SHARED, True)
