"""Drawings of the arms' graphs: the best arm's own, and every other one beside it with the differences marked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from composer.core.problems import UserError
from composer.studies.comparison import Arm
from composer.studies.records.run_records import ComparedRun
from composer.studies.report.pictures_section import data_uri

#: Arms whose graphs are drawn, the best ones.
ARMS = 8


def graphs_of(arms: Sequence[Arm]) -> dict[str, Any] | None:
    """A drawing for each of the best arms; None without any. An arm that cannot be compared shows its own drawing."""
    runs = [(arm.name, arm.runs[0]) for arm in arms if arm.runs]
    best: Any = None
    drawings = []
    for place, (name, run) in enumerate(runs[:ARMS]):
        summary, reason = summary_of(run)
        if place == 0:
            best = summary
        drawing = _drawing(run, summary, best, compared=place > 0)
        if drawing is not None:
            drawings.append({"arm": name, "source": data_uri(drawing.encode(), "image/svg+xml"), "note": reason})
    return {"drawings": drawings, "left_out": len(runs) - len(runs[:ARMS])} if drawings else None


def _drawing(run: ComparedRun, summary: Any, best: Any, *, compared: bool) -> str | None:
    from composer.views.drawing import svg

    if compared and summary is not None and best is not None:
        return svg(summary, against=best)
    path = run.folder / "graph.svg"
    return path.read_text(encoding="utf-8") if path.is_file() else None


def summary_of(run: ComparedRun) -> tuple[Any, str | None]:
    """The summary of a run's graph, compiled on the meta device; or None and the reason.

    A run made with plugins is not compiled, because a report must not run code that a folder names.
    """
    if run.config.get("plugins"):
        return None, "not compared with the best arm: its blocks come from plugins, which a report does not run"
    fitted = run.folder / "data.json"
    if not fitted.is_file():
        return None, "not compared with the best arm: its folder has no data.json"
    from composer.config.assembly import compile_config
    from composer.config.composition import Composed
    from composer.config.environment import with_environment
    from composer.graph.describe import summarise

    try:
        state = json.loads(fitted.read_text(encoding="utf-8"))
        config, _ = with_environment(run.config, needed=False)
        graph, _ = compile_config(Composed(config, (), {}), state)
    except UserError as error:
        return None, f"not compared with the best arm: {error}"
    except (ValueError, KeyError, TypeError) as error:  # the data.json of another program or version
        return None, f"not compared with the best arm: data.json cannot be read ({type(error).__name__}: {error})"
    return summarise(graph), None
