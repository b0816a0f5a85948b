"""A compiled graph as Mermaid text, for pages that render Mermaid, such as Markdown on GitHub."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from composer.views.drawing import captions
from composer.views.drawing.captions import Summary
from composer.views.drawing.cards import BADGES, CHANGES, Card, cards
from composer.views.drawing.difference import differences
from composer.views.drawing.panel import SIDES, wires

# The characters to escape: all but letters, digits and signs that are no markup in Mermaid, HTML or Markdown. A full
# stop or a hyphen at the start or before a space could begin a list.
_SPECIAL = re.compile(r"[^\w\s,()×·→.-]|[.-](?=\s|$)|^[.-]")  # noqa: RUF001 (a multiplication sign)

STYLES = {
    "frame": "fill:none,stroke:#d3dae2,color:#1f2933",
    "input": "fill:#f4f6f8,stroke:#6b7785,color:#1f2933",
    "once": "fill:#ffffff,stroke:#6b7785,color:#1f2933",
    "streams": "fill:#eef4fb,stroke:#2b5c8a,color:#1f2933",
    "added": "stroke:#117733,stroke-width:3px",
    "removed": "stroke:#b3261e,stroke-width:3px,stroke-dasharray:6 4",
    "changed": "stroke:#8a5a00,stroke-width:3px",
    "same": "stroke:#d3dae2,color:#52606d",
}


def mermaid(
    summary: Summary, against: Summary | None = None, titles: Sequence[str] = SIDES, *, opened: bool = False
) -> str:
    """A flowchart of ``summary``; with ``against``, of both graphs, with their differences marked by style classes.

    titles: of the two graphs of a comparison, the one of ``against`` first
    opened: whether stacks show their layers
    """
    classes: dict[str, list[str]] = defaultdict(list)
    classes["frame"] = ["model"] if against is None else ["comparison", "before", "after"]
    if against is None:
        title = f"{summary['family']} · {captions.totals(summary)}"
        body = _subgraph("model", title, _graph(summary, cards(summary, opened=opened), "n", classes))
    else:
        difference = differences(against, summary)
        sides = []
        for side, title, each in zip(SIDES, titles, (against, summary), strict=True):
            graph = _graph(each, cards(each, difference, side == SIDES[1], opened=opened), side[0], classes)
            sides += _subgraph(side, f"{title}: {each['family']} · {captions.totals(each)}", graph)
        body = _subgraph("comparison", difference.sentence, [*sides, "    before ~~~ after"], "LR")
    lines = ["flowchart TD", *body]
    for name, style in STYLES.items():  # in this order, so that marks override the other styles
        if name in classes:
            lines += [f"    classDef {name} {style}", f"    class {','.join(classes[name])} {name}"]
    return "\n".join(lines) + "\n"


def _subgraph(name: str, title: str, lines: Iterable[str], direction: str = "TB") -> list[str]:
    inner = [f"    direction {direction}", *lines]
    return [f"    subgraph {name}[{_quoted(title)}]", *(f"    {line}" for line in inner), "    end"]


def _graph(summary: Summary, shown: Sequence[Card], prefix: str, classes: dict[str, list[str]]) -> Iterator[str]:
    # Ids are numbered, because a name may be any text, even a reserved word of Mermaid such as "end".
    ids = {card.name: f"{prefix}{number}" for number, card in enumerate(shown)}
    for card in shown:
        style = "input" if card.kind == "input" else card.runs or "once"
        for name in (style, card.mark):
            classes[name].append(ids[card.name])
        begin, end = ("([", "])") if style == "input" else ("[", "]")
        yield f"    {ids[card.name]}{begin}{_label(card)}{end}"
    for wire in wires(summary):
        arrow = "-.-" if wire.link.loose else "-->"
        yield f"    {ids[wire.link.source]} {arrow}|{_quoted(wire.label)}| {ids[wire.link.target]}"


def _label(card: Card) -> str:
    lines = [f"<b>{_escaped(card.name)}</b>", *map(_escaped, (*card.details, card.size))]
    lines += [_escaped(text) for title, parts in card.layers for text in (title, *parts)]
    lines += [card.runs] if card.runs else []
    lines += [f"<i>{card.mark}</i>"] if card.mark in BADGES else []
    lines += map(_escaped, card.changes[:CHANGES])
    lines += [f"and {len(card.changes) - CHANGES} more"] if len(card.changes) > CHANGES else []
    return '"' + "<br/>".join(lines) + '"'


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """Text with special characters in Mermaid's escapes, which are character codes."""
    flat = " ".join(text.split()) or " "
    return _SPECIAL.sub(lambda match: f"#{ord(match.group())};", flat)
