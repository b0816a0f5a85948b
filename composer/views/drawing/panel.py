"""A panel: the cards, the layout and the labels of one graph, ready to draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from composer.views.drawing import captions
from composer.views.drawing.captions import Summary
from composer.views.drawing.cards import SMALL, Card, text_width
from composer.views.drawing.graph_layout import Box, GraphLayout, Link, lay_out
from composer.views.drawing.labels import Wish, place_labels

SHARED = "shared weights"
HEADING, TOTALS = 15.0, 12.0  # font sizes


@dataclass(frozen=True)
class Panel:
    cards: tuple[Card, ...]
    layout: GraphLayout
    texts: tuple[str, ...]  # the label of each line of the layout
    labels: tuple[Box | None, ...]  # the place of each label
    fresh: frozenset[int]  # the lines that the other graph of a comparison does not have
    heading: str  # in a comparison: before or after
    totals: str

    @property
    def left(self) -> float:
        return min([0.0, *(label.x for label in self.labels if label)])

    @property
    def width(self) -> float:
        """The width of the drawing, including labels that extend beyond its boxes."""
        return max([self.layout.width, *(label.right for label in self.labels if label)]) - self.left

    @property
    def heading_width(self) -> float:
        return (
            max(text_width(self.heading, HEADING, bold=True), text_width(self.totals, TOTALS)) if self.heading else 0.0
        )


def panel(summary: Summary, shown: Sequence[Card], other: Summary | None = None, heading: str = "") -> Panel:
    """The panel of the graph ``summary`` with the cards ``shown``; ``other`` is the graph to compare with."""
    shapes, lines = captions.shapes(summary), list(wires(summary))
    known = {(link.source, link.target, port) for link, port, _ in (wires(other) if other else ())}
    fresh = {i for i, (link, port, _) in enumerate(lines) if (link.source, link.target, port) not in known}
    texts = [port if said else shapes[link.source] for link, port, said in lines]
    links = [link for link, _, _ in lines]
    heads = [node["name"] for node in summary["nodes"] if node.get("predicts")]
    layout = lay_out({card.name: (card.width, card.height) for card in shown}, links, heads)
    wishes = [
        Wish(number, text_width(text, SMALL) + 8.0, needed=said)
        for number, (text, (_, _, said)) in enumerate(zip(texts, lines, strict=True))
    ]
    labels = place_labels(layout, wishes)
    return Panel(
        tuple(shown),
        layout,
        tuple(texts),
        tuple(labels),
        frozenset(fresh if other else ()),
        heading,
        captions.totals(summary),
    )


def wires(summary: Summary) -> Iterator[tuple[Link, str, bool]]:
    """Each line, its port, and whether its label is the port's name rather than the shape of its signal."""
    for node in summary["nodes"]:
        for number, (port, sources) in enumerate(node["from"].items()):
            for source in sources:
                yield Link(source, node["name"], main=number == 0 and len(sources) == 1), port, number > 0
        for owner in node.get("shares", ()):
            if owner != node["name"]:
                yield Link(owner, node["name"], loose=True), SHARED, True
