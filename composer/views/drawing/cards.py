"""Cards: the text of each box of a drawing, and the size that the text needs."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from composer.views.drawing import captions
from composer.views.drawing.difference import Difference

NAME, DETAIL, SMALL, BADGE = 14.0, 12.0, 11.0, 10.0  # font sizes
LEADING = 1.45  # line height over font size
LEFT, RIGHT, ABOVE, BELOW = 17.0, 14.0, 9.0, 10.0  # padding
NARROWEST = 172.0  # most boxes have this width, so that columns look even
WRAP = 44  # characters of a line of contents
INSIDE = "\u2003"  # before a part of a layer (an em space)
CHANGES, CHANGE = 6, 52  # lines of differences shown, and the characters of each; the tooltip shows all differences


@dataclass(frozen=True)
class CardLine:
    text: str
    size: float
    tone: str  # name, detail, small or change
    above: float = 0.0  # space above the line


BADGES = {"added": "+ added", "removed": "− removed", "changed": "≠ changed"}  # noqa: RUF001 (a minus sign)


@dataclass(frozen=True)
class Card:
    name: str
    kind: str
    details: tuple[str, ...]
    size: str  # the shape, and of a node the number of parameters
    runs: str  # generated, streams, or nothing for what runs once
    tooltip: str
    mark: str = ""  # in a comparison: added, removed, changed or same
    changes: tuple[str, ...] = ()
    layers: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of an opened stack: titles, each with its parts
    width: float = 0.0
    height: float = 0.0

    @property
    def lines(self) -> list[CardLine]:
        """What stands below each other: the name, the details, the size and the first changes."""
        shown = [textwrap.shorten(line, CHANGE, placeholder=" …") for line in self.changes[:CHANGES]]
        if len(self.changes) > CHANGES:
            shown[-1] = f"and {len(self.changes) - CHANGES + 1} more"
        return [
            CardLine(self.name, NAME, "name"),
            *(CardLine(line, DETAIL, "detail") for detail in self.details for line in textwrap.wrap(detail, WRAP)),
            CardLine(self.size, SMALL, "small"),
            *(
                CardLine(text, SMALL, "detail" if i else "small", 0.0 if i else 6.0)
                for title, parts in self.layers
                for i, text in enumerate((title, *(f"{INSIDE}{part}" for part in parts)))
            ),
            *(CardLine(line, SMALL, "change", 0.0 if i else 5.0) for i, line in enumerate(shown)),
        ]

    @property
    def badges(self) -> list[str]:
        """What stands beside the name."""
        return [badge for badge in (self.runs, BADGES.get(self.mark)) if badge]


# Widths of characters over the font size, in DejaVu Sans, which is wider than the fonts of most systems.
ADVANCES = ((" iljI|!.,:;'·", 0.33), ("ftr()[]-/", 0.41), ("_cksvxyz", 0.57), ("mwMW%@→+=<>≠", 0.92))


def text_width(text: str, size: float, bold: bool = False) -> float:
    """An estimate on the wide side: the reader's system decides on the font."""
    return size * sum(_advance(character) for character in text) * (1.12 if bold else 1.0)


def _advance(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    for characters, advance in ADVANCES:
        if character in characters:
            return advance
    return 0.72 if character.isupper() else 0.635


def badge_width(text: str) -> float:
    return text_width(text, BADGE) + 14.0


def cards(
    summary: captions.Summary, difference: Difference | None = None, after: bool = True, *, opened: bool = False
) -> list[Card]:
    """A card for each input and node; in a comparison, with its difference from the other graph.

    opened: whether stacks show their layers
    """
    made = [_input(entry) for entry in summary["inputs"]] + [_node(node, opened) for node in summary["nodes"]]
    return [_sized(card if difference is None else _marked(card, difference, after)) for card in made]


def _input(entry: Mapping[str, Any]) -> Card:
    field, shape = captions.field(entry), captions.shape(entry["shape"])
    tooltip = f"{entry['name']}: {field}, {shape}"
    if not entry.get("generated"):
        return Card(entry["name"], "input", (field,), shape, "", tooltip)
    return Card(entry["name"], "input", (field,), shape, "generated", f"{tooltip}, generated step by step")


def _node(node: Mapping[str, Any], opened: bool = False) -> Card:
    streams = node.get("runs") == "streams"
    predicts = [f"predicts {node['predicts']}"] if node.get("predicts") else []
    layers = tuple((each["title"], tuple(map(captions.part, each["parts"]))) for each in node.get("layers", ()))
    layers = layers if opened else ()
    details = (captions.block(node), *(() if layers else node.get("contents", ())), *predicts)
    shape = captions.shape(node["output"]["shape"])
    facts = [
        f"{node['name']}: {captions.block(node)}",
        *(f"from {port}: {', '.join(sources)}" for port, sources in node["from"].items()),
        *predicts,
        *([f"shares weights with {', '.join(node['shares'])}"] if node.get("shares") else []),
        f"output: {node['output'].get('kind', '')} {shape}",
        f"parameters: {node.get('parameters', 0):,}",
        f"FLOPs per token: {node.get('flops_per_token', 0):,}",
        f"state: {node.get('state_bytes', 0):,} bytes",
        "streams, step by step" if streams else "runs once",
        "causal" if node.get("causal") else "reads both directions",
        *(f"{key}: {captions.value(setting)}" for key, setting in node.get("settings", {}).items()),
    ]
    size = f"{shape} · {captions.parameters(node.get('parameters', 0))}"
    runs = "streams" if streams else ""
    return Card(node["name"], node["kind"], details, size, runs, "\n".join(facts), layers=layers)


def _marked(card: Card, difference: Difference, after: bool) -> Card:
    """The card with its differences: the card before shows the old values, the card after old and new values."""
    changes = difference.changed.get(card.name, ())
    tooltip = "\n".join([card.tooltip, *(["", "changed:"] if changes else []), *map(str, changes)])
    shown = tuple(text for change in changes if (text := change.shown(after)) is not None)
    return replace(card, mark=difference.mark(card.name), changes=shown, tooltip=tooltip)


def _sized(card: Card) -> Card:
    head, *rest = card.lines
    widths = [text_width(line.text, line.size) for line in rest]
    widths.append(text_width(head.text, head.size, bold=True) + sum(10.0 + badge_width(badge) for badge in card.badges))
    width = max(NARROWEST, LEFT + max(widths) + RIGHT)
    height = ABOVE + sum(line.above + line.size * LEADING for line in (head, *rest)) + BELOW
    return replace(card, width=width, height=height)


def aligned(left: Iterable[Card], right: Iterable[Card]) -> tuple[list[Card], list[Card]]:
    """Both sides, with equal sizes for cards of the same name, so that equal graphs get equal layouts."""
    befores, afters = {card.name: card for card in left}, {card.name: card for card in right}
    for name in befores.keys() & afters.keys():
        pair = (befores[name], afters[name])
        width, height = max(card.width for card in pair), max(card.height for card in pair)
        befores[name], afters[name] = (replace(card, width=width, height=height) for card in pair)
    return list(befores.values()), list(afters.values())
