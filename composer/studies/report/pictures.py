"""Figures of one run per arm, embedded in the page up to a limit of size."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from composer.studies.comparison import Arm

#: The embedded figures take this many characters at most, so that the page stays small enough to be sent.
LIMIT = 6_000_000

#: Figures of a run that the page draws itself, for all runs together.
DRAWN = ("learning_curves", "throughput")


def pictures_of(arms: Sequence[Arm]) -> dict[str, Any] | None:
    """The figures of each arm's first run, by the name of the figure; None without any.

    Where the limit is reached, the best arms have theirs.
    """
    found: dict[str, list[dict[str, str]]] = {}
    left_out, room = 0, LIMIT
    for arm in arms:
        for path in _figures(arm):
            source = data_uri(path.read_bytes(), "image/png")
            if len(source) > room:
                left_out += 1
                continue
            room -= len(source)
            found.setdefault(path.stem, []).append({"arm": arm.name, "run": arm.runs[0].name, "source": source})
    if not found and not left_out:
        return None
    figures = [{"name": name, "pictures": found[name]} for name in sorted(found)]
    return {"figures": figures, "left_out": left_out, "limit": LIMIT}


def _figures(arm: Arm) -> list[Path]:
    if not arm.runs:
        return []
    return [path for path in sorted((arm.runs[0].folder / "figures").glob("*.png")) if path.stem not in DRAWN]


def data_uri(content: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
