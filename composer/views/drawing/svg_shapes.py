"""The SVG shapes of a drawing: boxes, lines, labels and the legend."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from composer.views.drawing import palette
from composer.views.drawing.cards import (
    ABOVE,
    BADGE,
    BADGES,
    LEADING,
    LEFT,
    RIGHT,
    SMALL,
    Card,
    badge_width,
    text_width,
)
from composer.views.drawing.graph_layout import Box, Route
from composer.views.drawing.panel import SHARED, SIDES, Line, Panel
from composer.views.drawing.svg_elements import child, number

ROUND = 8.0
BAR = 5.0  # width of the stripe in the colour of the block's kind
ARROW = 8.0
SWATCH = 26.0
TONES = {"name": palette.INK, "detail": palette.INK, "small": palette.SOFT, "change": palette.MARKS["changed"]}


def draw_panel(page: ET.Element, panel: Panel, x: float, y: float) -> None:
    graph = child(page, "g", class_="graph", transform=f"translate({number(x)} {number(y)})")
    paths = child(graph, "g", class_="lines", fill="none", stroke_width=1.5)
    # New lines come last, so that a line with the same trunk does not hide them.
    for line in sorted(panel.lines, key=lambda line: line.fresh):
        _draw_line(paths, line.route, _colour(line, panel))
    for card in panel.cards:
        _draw_card(graph, card, panel.layout.boxes[card.name])
    words = child(graph, "g", class_="labels", font_size=SMALL, text_anchor="middle", fill=palette.SOFT)
    for line in panel.lines:
        place, colour = line.label, _colour(line, panel)
        if place is None:
            continue
        child(words, "rect", x=place.x, y=place.y, width=place.width, height=place.height, rx=4, fill=palette.PAPER)
        label = child(words, "text", line.text, x=place.x + place.width / 2, y=place.y + 11.3)
        if colour != palette.LINE:
            label.set("fill", colour)


def _colour(line: Line, panel: Panel) -> str:
    if line.fresh:
        return palette.MARKS["removed" if panel.side == SIDES[0] else "added"]
    return palette.SHARED if line.route.link.loose else palette.LINE


def _draw_line(lines: ET.Element, route: Route, colour: str) -> None:
    start = route.curves[0][0]
    path = f"M{number(start[0])} {number(start[1])}"
    for curve in route.curves:
        if len({x for x, _ in curve}) == 1:
            # The line ends inside the arrowhead, because it would otherwise blunt the tip.
            covered = ARROW - 2 if curve is route.curves[-1] and not route.link.loose else 0
            path += f"V{number(curve[3][1] - covered)}"
        else:
            path += "C" + " ".join(f"{number(x)} {number(y)}" for x, y in curve[1:])
    if route.link.loose:
        child(lines, "path", class_="shared", d=path, stroke=colour, stroke_dasharray="5 4")
        return
    child(lines, "path", class_="line", d=path, stroke=colour)
    x, y = route.curves[-1][3]
    tip = f"M{number(x - 4)} {number(y - ARROW)}L{number(x)} {number(y)}L{number(x + 4)} {number(y - ARROW)}z"
    child(lines, "path", class_="arrow", d=tip, fill=colour)


def _draw_card(graph: ET.Element, card: Card, box: Box) -> None:
    group = child(graph, "g", class_=f"node {card.mark}".strip())
    child(group, "title", card.tooltip)
    muted = card.mark == "same"
    _draw_box(
        group, box, card.runs != "" and not muted, palette.HAIR if muted else palette.accent(card.kind), card.mark
    )
    y = box.y + ABOVE
    for line in card.lines:
        y += line.above + line.size * LEADING
        text = child(group, "text", line.text, x=box.x + LEFT, y=y - line.size * 0.32, font_size=line.size)
        text.set("class", line.tone)
        text.set("fill", palette.SOFT if muted else TONES[line.tone])
        if line.tone == "name":
            text.set("font-weight", "700")
    x = box.right - RIGHT + 4
    for badge in reversed(card.badges):
        x -= badge_width(badge)
        colour = palette.MARKS.get(card.mark, "") if badge in BADGES.values() else ""
        _draw_badge(group, badge, x, box.y + ABOVE + 2, colour or (palette.SOFT if muted else palette.STREAM))
        x -= 6.0


def _draw_box(group: ET.Element, box: Box, streams: bool, accent: str, mark: str = "", corner: float = ROUND) -> None:
    outline = child(group, "rect", x=box.x, y=box.y, width=box.width, height=box.height, rx=corner)
    outline.set("class", "box")
    outline.set("fill", palette.TINT if streams else palette.PAPER)
    left, r = box.x, corner
    bar = f"M{number(left + r)} {number(box.y)}a{number(r)} {number(r)} 0 0 0 {number(-r)} {number(r)}"
    bar += f"v{number(box.height - 2 * r)}a{number(r)} {number(r)} 0 0 0 {number(r)} {number(r)}"
    # The inner edge of the stripe is straight.
    bar += f"h{number(BAR - r)}v{number(-box.height)}z"
    child(group, "path", d=bar, fill=accent)
    outline.set("stroke", palette.MARKS.get(mark, palette.HAIR))
    outline.set("stroke-width", "2" if mark in palette.MARKS else "1")
    if mark == "removed":
        outline.set("stroke-dasharray", "6 4")


def _draw_badge(group: ET.Element, text: str, x: float, y: float, colour: str) -> None:
    width = badge_width(text)
    child(group, "rect", x=x, y=y, width=width, height=16, rx=8, fill=palette.PAPER, stroke=colour, stroke_width=0.8)
    label = child(group, "text", text, x=x + width / 2, y=y + 11.4, font_size=BADGE, fill=colour)
    label.set("text-anchor", "middle")
    label.set("class", "badge")


def legend(panels: Sequence[Panel]) -> list[tuple[str, str]]:
    """The signs that occur in these panels, each with its meaning."""
    shown = [card for panel in panels for card in panel.cards]
    items = []
    if any(card.runs for card in shown):
        items.append(("streams", "streams, step by step"))
        items += [("once", "runs once")] if not all(card.runs for card in shown) else []
    if any(line.route.link.loose for panel in panels for line in panel.lines):
        items.append((SHARED, SHARED))
    marks = {card.mark for card in shown}
    return items + [(mark, mark) for mark in (*palette.MARKS, "same") if mark in marks]


def draw_legend(page: ET.Element, items: Sequence[tuple[str, str]], x: float, y: float, width: float) -> float:
    """Draw the items in rows no wider than ``width``, and return the y below them."""
    left, size = x, 11.0
    group = child(page, "g", class_="legend", font_size=size, fill=palette.SOFT)
    for sign, meaning in items:
        needed = SWATCH + 8.0 + text_width(meaning, size)
        if x > left and x + needed > left + width:
            x, y = left, y + 22.0
        box = Box(x, y, SWATCH, 14.0)
        if sign == SHARED:
            middle = f"M{number(x)} {number(y + 7)}h{number(SWATCH)}"
            child(group, "path", d=middle, stroke=palette.SHARED, stroke_width=1.5, stroke_dasharray="5 4")
        else:
            accent = palette.HAIR if sign == "same" else palette.LINE
            _draw_box(group, box, sign == "streams", accent, sign, corner=4.0)
        child(group, "text", meaning, x=x + SWATCH + 8.0, y=y + 11.0)
        x += needed + 20.0
    return y + 14.0 if items else y - 14.0
