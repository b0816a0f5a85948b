"""A compiled graph as Mermaid text, for pages that render Mermaid, such as Markdown on GitHub."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from composer.views.drawing import captions
from composer.views.drawing.captions import Summary
from composer.views.drawing.difference import Difference, differences
from composer.views.drawing.panel import wires

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
CHANGES = 6  # lines of differences shown in a node


def mermaid(summary: Summary, against: Summary | None = None) -> str:
    """A flowchart of ``summary``; with ``against``, of both graphs, with their differences marked by style classes."""
    classes: dict[str, list[str]] = defaultdict(list)
    classes["frame"] = ["model"] if against is None else ["comparison", "before", "after"]
    if against is None:
        body = _subgraph("model", f"{summary['family']} · {captions.totals(summary)}", _graph(summary, "n", classes))
    else:
        difference = differences(against, summary)
        sides = [
            line
            for side, each in (("before", against), ("after", summary))
            for line in _subgraph(
                side,
                f"{side}: {each['family']} · {captions.totals(each)}",
                _graph(each, side[0], classes, difference, side == "after"),
            )
        ]
        body = _subgraph("comparison", difference.sentence, [*sides, "    before ~~~ after"], "LR")
    lines = ["flowchart TD", *body]
    for name, style in STYLES.items():  # in this order, so that marks override the other styles
        if name in classes:
            lines += [f"    classDef {name} {style}", f"    class {','.join(classes[name])} {name}"]
    return "\n".join(lines) + "\n"


def _subgraph(name: str, title: str, lines: Iterable[str], direction: str = "TB") -> list[str]:
    inner = [f"    direction {direction}", *lines]
    return [f"    subgraph {name}[{_quoted(title)}]", *(f"    {line}" for line in inner), "    end"]


def _graph(
    summary: Summary,
    prefix: str,
    classes: dict[str, list[str]],
    difference: Difference | None = None,
    after: bool = True,
) -> Iterator[str]:
    # Ids are numbered, because a name may be any text, even a reserved word of Mermaid such as "end".
    shapes = captions.shapes(summary)
    ids = {name: f"{prefix}{number}" for number, name in enumerate(shapes)}
    if difference is not None:
        for name in shapes:
            classes[difference.mark(name)].append(ids[name])

    for entry in summary["inputs"]:
        classes["input"].append(ids[entry["name"]])
        said = [captions.field(entry) + (", generated" if entry.get("generated") else ""), shapes[entry["name"]]]
        yield f"    {ids[entry['name']]}([{_label(entry['name'], said, difference, after)}])"
    for node in summary["nodes"]:
        streams = node.get("runs") == "streams"
        classes["streams" if streams else "once"].append(ids[node["name"]])
        said = [*_details(node), f"{shapes[node['name']]} · {captions.parameters(node.get('parameters', 0))}"]
        said += ["streams"] if streams else []
        yield f"    {ids[node['name']]}[{_label(node['name'], said, difference, after)}]"
    for link, port, named in wires(summary):
        arrow = "-.-" if link.loose else "-->"
        label = _quoted(port if named else shapes[link.source])
        yield f"    {ids[link.source]} {arrow}|{label}| {ids[link.target]}"


def _details(node: Mapping[str, Any]) -> list[str]:
    predicts = [f"predicts {node['predicts']}"] if node.get("predicts") else []
    return [captions.block(node), *node.get("contents", ()), *predicts]


def _label(name: str, said: list[str], difference: Difference | None, after: bool) -> str:
    lines = [f"<b>{_escaped(name)}</b>", *map(_escaped, said)]
    if difference is not None and (mark := difference.mark(name)) != "same":
        changes = difference.changed.get(name, ())
        lines.append(f"<i>{mark}</i>")
        lines += [_escaped(change.shown(after)) for change in changes[:CHANGES]]
        lines += [f"and {len(changes) - CHANGES} more"] if len(changes) > CHANGES else []
    return '"' + "<br/>".join(lines) + '"'


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """Text with special characters in Mermaid's escapes, which are character codes."""
    flat = " ".join(text.split()) or " "
    return _SPECIAL.sub(lambda match: f"#{ord(match.group())};", flat)
