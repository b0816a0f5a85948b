"""The colours, which colour-blind readers can tell apart (after Okabe and Ito, and Paul Tol), on white and on black."""

from __future__ import annotations

import zlib

INK = "#1f2933"
SOFT = "#52606d"  # 6.4 to 1 on white
LINE = "#8793a0"
HAIR = "#d3dae2"
PAPER = "#ffffff"
TINT = "#eef4fb"  # the background of boxes that stream
STREAM = "#2b5c8a"
SHARED = "#7b5ea7"

KINDS = {
    "input": "#6b7785",
    "embedding": "#0072b2",
    "position": "#56b4e9",
    "stack": "#3f4a9c",
    "mixer": "#3f4a9c",
    "cross": "#cc79a7",
    "ffn": "#999933",
    "norm": "#88ccee",
    "merge": "#e69f00",
    "pool": "#44aa99",
    "bridge": "#882255",
    "head": "#d55e00",
}
OTHERS = ("#117733", "#aa4499", "#ddaa33", "#004488", "#bb5566", "#009e73")
MARKS = {"added": "#117733", "removed": "#b3261e", "changed": "#8a5a00"}

#: What becomes of the colours where the reader's system is dark; a colour that is not listed is readable on both.
DARK = {
    INK: "#e4e9ee", SOFT: "#a9b4bf", LINE: "#7c8894", HAIR: "#3a444f", PAPER: "#14181d", TINT: "#1c2835",
    STREAM: "#84b8e8", SHARED: "#b9a3e0", KINDS["input"]: "#95a1ad", KINDS["embedding"]: "#4aa8e0",
    KINDS["stack"]: "#8f9ae8", KINDS["bridge"]: "#d977a8", KINDS["head"]: "#f08a3c", "#004488": "#6b9fe0",
    MARKS["added"]: "#5cc583", MARKS["removed"]: "#f2827a", MARKS["changed"]: "#e0b050",
}  # fmt: skip


def accent(kind: str) -> str:
    """The colour of a kind. A kind that is not listed gets a colour by its hash, the same in every drawing."""
    return KINDS.get(kind) or OTHERS[zlib.crc32(kind.encode("utf-8", "replace")) % len(OTHERS)]
