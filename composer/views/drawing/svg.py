"""A compiled graph as a standalone SVG document, or two graphs side by side with their differences marked.

The document has no style sheet and no ids, so that a page can contain several drawings that do not affect each other.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from composer.views.drawing import captions, palette
from composer.views.drawing.captions import Summary
from composer.views.drawing.cards import aligned, cards, text_width
from composer.views.drawing.difference import differences
from composer.views.drawing.panel import HEADING, TOTALS, Panel, panel
from composer.views.drawing.svg_elements import child, number
from composer.views.drawing.svg_shapes import draw_legend, draw_panel, legend

MARGIN = 32.0
APART = 80.0  # between the two graphs of a comparison
TITLE, SUBTITLE = 21.0, 13.0  # font sizes
NARROWEST = 460.0


def svg(summary: Summary, against: Summary | None = None) -> str:
    """The drawing of ``summary``; with ``against``, a comparison of ``against`` (left) with ``summary`` (right)."""
    if against is None:
        panels = [panel(summary, cards(summary))]
        return _document(str(summary["family"]), captions.totals(summary), _spoken(summary), panels)
    difference = differences(against, summary)
    befores, afters = aligned(cards(against, difference, False), cards(summary, difference, True))
    panels = [panel(against, befores, summary, "before"), panel(summary, afters, against, "after")]
    title = " → ".join(dict.fromkeys(str(each["family"]) for each in (against, summary)))
    spoken = f"Before: {_spoken(against)} After: {_spoken(summary)}"
    return _document(title, difference.sentence, spoken, panels)


def _spoken(summary: Summary) -> str:
    """The graph in words, for screen readers."""
    said = []
    for node in summary["nodes"]:
        sources = [source for each in node["from"].values() for source in each]
        predicts = f", predicts {node['predicts']}" if node.get("predicts") else ""
        said.append(f"{node['name']} ({captions.block(node)}) from {', '.join(sources) or 'nothing'}{predicts}")
    inputs = ", ".join(entry["name"] for entry in summary["inputs"])
    return f"Inputs: {inputs or 'none'}. Nodes: {'; '.join(said) or 'none'}."


def _document(title: str, subtitle: str, spoken: str, panels: Sequence[Panel]) -> str:
    columns = [max(each.width, each.heading_width) for each in panels]
    body = sum(columns) + APART * (len(columns) - 1)
    words = max(text_width(title, TITLE, bold=True), text_width(subtitle, SUBTITLE))
    inner = max(body, words, NARROWEST)

    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img"})
    child(root, "title", f"{title}: {subtitle}")
    child(root, "desc", spoken)
    paper = child(root, "rect", fill=palette.PAPER)
    page = child(root, "g", font_family="system-ui, sans-serif", fill=palette.INK)
    y = MARGIN + TITLE * 0.8
    child(page, "text", title, class_="title", x=MARGIN, y=y, font_size=TITLE, font_weight="600")
    y += SUBTITLE * 1.8
    child(page, "text", subtitle, class_="subtitle", x=MARGIN, y=y, font_size=SUBTITLE, fill=palette.SOFT)
    y = draw_legend(page, legend(panels), MARGIN, y + 16.0, inner) + 30.0

    x = MARGIN + (inner - body) / 2
    bottom = y
    for each, column in zip(panels, columns, strict=True):
        top = y
        if each.heading:
            child(page, "text", each.heading, class_="heading", x=x, y=y + 10, font_size=HEADING, font_weight="600")
            child(page, "text", each.totals, x=x, y=y + 30, font_size=TOTALS, fill=palette.SOFT)
            top += 56.0
        draw_panel(page, each, x + (column - each.width) / 2 - each.left, top)
        bottom = max(bottom, top + each.layout.height)
        x += column + APART
    if len(panels) == 2:
        middle = MARGIN + (inner - body) / 2 + columns[0] + APART / 2
        child(page, "path", d=f"M{number(middle)} {number(y)}V{number(bottom)}", stroke=palette.HAIR)
    size = {"width": number(inner + 2 * MARGIN), "height": number(bottom + MARGIN)}
    root.attrib |= {**size, "viewBox": f"0 0 {size['width']} {size['height']}"}
    paper.attrib |= size
    return ET.tostring(root, encoding="unicode") + "\n"
