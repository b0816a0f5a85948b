"""The colours, which colour-blind readers can tell apart on white (after Okabe and Ito, and Paul Tol)."""

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


def accent(kind: str) -> str:
    """The colour of a kind. A kind that is not listed gets a colour by its hash, the same in every drawing."""
    return KINDS.get(kind) or OTHERS[zlib.crc32(kind.encode("utf-8", "replace")) % len(OTHERS)]
