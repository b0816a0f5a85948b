"""Figures of one run per arm, embedded in the page up to a limit of size, and drawings of the arms' graphs."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from composer.core.problems import UserError
from composer.studies.comparison import Arm
from composer.studies.records.run_records import ComparedRun

#: The embedded figures take this many characters at most, so that the page stays small enough to be sent.
LIMIT = 6_000_000

#: The arms, best first, whose checkpoints are loaded to draw figures; it takes seconds for each.
INSPECTED = 6

#: Arms whose graphs are drawn, the best ones.
DRAWINGS = 8

#: Figures of a run that the page draws itself, for all runs together.
DRAWN = ("learning_curves", "throughput")


def pictures_of(arms: Sequence[Arm], plugins: Sequence[str] = ()) -> dict[str, Any] | None:
    """The figures of each arm's first run, by the name of the figure; None without any.

    Where the limit is reached, the best arms have theirs.
    """
    found: dict[str, list[dict[str, str]]] = {}
    left_out, room = 0, LIMIT
    for rank, arm in enumerate(arm for arm in arms if arm.runs):
        inspected = _inspected(arm, plugins) if rank < INSPECTED else None
        for name, content in (inspected or _figures(arm)).items():
            source = data_uri(content, "image/png")
            if len(source) > room:
                left_out += 1
                continue
            room -= len(source)
            found.setdefault(name, []).append({"arm": arm.name, "run": arm.runs[0].name, "source": source})
    if not found and not left_out:
        return None
    figures = [{"name": name, "pictures": found[name]} for name in sorted(found)]
    return {"figures": figures, "left_out": left_out, "limit": LIMIT}


def _inspected(arm: Arm, plugins: Sequence[str]) -> Mapping[str, bytes] | None:
    """Figures of an arm's first run, drawn from its checkpoint; None if the run wants none or cannot be loaded."""
    run = arm.runs[0]
    wanted = (run.config.get("training") or {}).get("figures", True)
    if not wanted or not run.files.last.is_file():
        return None
    from composer.inference.inspection import figures_to_compare
    from composer.inference.model import Model

    try:
        return figures_to_compare(Model.load(run.folder, plugins=plugins))
    except UserError:  # the data, or a block of the user's own, is not at hand
        return None


def _figures(arm: Arm) -> Mapping[str, bytes]:
    """The figures that an arm's first run left in its folder."""
    paths = sorted(arm.runs[0].files.figures.glob("*.png"))
    return {path.stem: path.read_bytes() for path in paths if path.stem not in DRAWN}


def data_uri(content: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def graphs_of(arms: Sequence[Arm]) -> dict[str, Any] | None:
    """A drawing for each of the best arms; None without any. An arm that cannot be compared shows its own drawing."""
    runs = [(arm.name, arm.runs[0]) for arm in arms if arm.runs]
    best: Any = None
    drawings = []
    for place, (name, run) in enumerate(runs[:DRAWINGS]):
        summary, reason = summary_of(run)
        if place == 0:
            best = summary
        drawing = _drawing(run, summary, best, compared=place > 0)
        if drawing is not None:
            source, dark = data_uri(drawing.encode(), "image/svg+xml"), "prefers-color-scheme" in drawing
            drawings.append({"arm": name, "source": source, "note": reason, "dark": dark})
    return {"drawings": drawings, "left_out": len(runs) - len(runs[:DRAWINGS])} if drawings else None


def _drawing(run: ComparedRun, summary: Any, best: Any, *, compared: bool) -> str | None:
    from composer.views.drawing import svg

    if compared and summary is not None and best is not None:
        return svg(summary, against=best)
    return run.files.graph.read_text(encoding="utf-8") if run.files.graph.is_file() else None


def summary_of(run: ComparedRun) -> tuple[Any, str | None]:
    """The summary of a run's graph, compiled on the meta device; or None and the reason.

    A run made with plugins is not compiled, because a report must not run code that a folder names.
    """
    if run.config.get("plugins"):
        return None, "not compared with the best arm: its blocks come from plugins, which a report does not run"
    if not run.files.data.is_file():
        return None, "not compared with the best arm: its folder has no data.json"
    from composer.config.assembly import compile_config
    from composer.config.composition import Composed
    from composer.config.environment import with_environment
    from composer.graph.describe import summarise

    try:
        state = json.loads(run.files.data.read_text(encoding="utf-8"))
        config, _ = with_environment(run.config, needed=False)
        graph, _ = compile_config(Composed(config, (), {}), state)
    except UserError as error:
        return None, f"not compared with the best arm: {error}"
    except (ValueError, KeyError, TypeError) as error:  # the data.json of another program or version
        return None, f"not compared with the best arm: data.json cannot be read ({type(error).__name__}: {error})"
    return summarise(graph), None
