"""A compiled graph as a standalone SVG document, or two graphs side by side with their differences marked.

The document has no ids, and its style sheet holds the colours for dark systems alone, for drawings alone: a page can
contain several drawings that do not affect each other. A reader that knows no style sheets shows it as on white.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from composer.views.drawing import captions, palette
from composer.views.drawing.captions import Summary
from composer.views.drawing.cards import aligned, cards, text_width
from composer.views.drawing.difference import differences
from composer.views.drawing.panel import HEADING, SIDES, TOTALS, Panel, panel
from composer.views.drawing.svg_elements import child, number
from composer.views.drawing.svg_shapes import draw_legend, draw_panel, legend

MARGIN = 32.0
APART = 80.0  # between the two graphs of a comparison
TITLE, SUBTITLE = 21.0, 13.0  # font sizes
NARROWEST = 460.0

#: The class of the root, for which the style sheet holds.
DRAWING = "composer-graph"


def svg(
    summary: Summary, against: Summary | None = None, titles: Sequence[str] = SIDES, *, opened: bool = False
) -> str:
    """The drawing of ``summary``; with ``against``, a comparison of ``against`` (left) with ``summary`` (right).

    titles: of the two graphs of a comparison, the left one first
    opened: whether stacks show their layers
    """
    if against is None:
        panels = [panel(summary, cards(summary, opened=opened))]
        return _document(str(summary["family"]), captions.totals(summary), _spoken(summary), panels)
    difference = differences(against, summary)
    sides = ((against, False), (summary, True))
    befores, afters = aligned(*(cards(each, difference, after, opened=opened) for each, after in sides))
    panels = [
        panel(against, befores, summary, titles[0], SIDES[0]), panel(summary, afters, against, titles[1], SIDES[1]),
    ]  # fmt: skip
    named = titles if tuple(titles) != SIDES else (str(each["family"]) for each in (against, summary))
    title = " → ".join(dict.fromkeys(named))
    spoken = f"{titles[0]}: {_spoken(against)} {titles[1]}: {_spoken(summary)}"
    return _document(title, difference.sentence, spoken, panels)


def dark_colours() -> str:
    """CSS by which every element has the colours of a dark page where the reader's system is dark."""
    rules = (
        f'.{DRAWING} [{key}="{light}"]{{{key}:{dark}}}'
        for light, dark in palette.DARK.items()
        for key in ("fill", "stroke")
    )
    return f"@media (prefers-color-scheme:dark){{{''.join(rules)}}}"


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

    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", "class": DRAWING})
    child(root, "title", f"{title}: {subtitle}")
    child(root, "desc", spoken)
    child(root, "style", dark_colours())
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
