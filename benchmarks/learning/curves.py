"""The results as curves: each figure by steps and by seconds, the mean over the seeds with the range of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from benchmarks.learning.results import Point, Run
from benchmarks.learning.table import Line, line_of
from benchmarks.learning.task import Ours, Task

#: Figures that get curves: more are hard to read.
SHOWN = 2

#: A colour a contest; ours is a full line, its peers are broken ones.
COLOURS = ("#1f6fb4", "#c8502d", "#3d8f4f")


def draw_curves(task: Task, runs: Sequence[Run], steps: int, path: Path) -> bool:
    """Write an SVG, and say whether there was anything to draw."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    lines = {arm: line for arm in task.arms if (line := line_of(task, arm, runs, steps)) is not None}
    if not any(run.points for line in lines.values() for run in line.runs):
        return False
    shown = task.figures[:SHOWN]
    with matplotlib.rc_context({"svg.hashsalt": task.name, "font.size": 9, "axes.grid": True, "grid.alpha": 0.3}):
        figure, axes = pyplot.subplots(len(shown), 2, figsize=(9, 3 * len(shown)), squeeze=False, sharey="row")
        for name, (by_step, by_second) in zip(shown, axes, strict=True):
            for arm, line in lines.items():
                colour, style = _look(task, arm)
                _curve(by_step, line, name, "step", arm, colour, style)
                _curve(by_second, line, name, "cpu_seconds", arm, colour, style)
            by_step.set_ylabel(name.replace("_", " "))
        axes[-1][0].set_xlabel("steps")
        axes[-1][1].set_xlabel("seconds of the CPU")
        axes[0][0].legend(fontsize=8)
        figure.suptitle(task.title)
        figure.tight_layout()
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        pyplot.close(figure)
    return True


def _look(task: Task, arm: str) -> tuple[str, str]:
    contest = next(i for i, c in enumerate(task.contests) if arm in (c.ours.name, *(peer.name for peer in c.peers)))
    return COLOURS[contest % len(COLOURS)], "-" if isinstance(task.arms[arm][0], Ours) else "--"


def _curve(axes: object, line: Line, name: str, across: str, arm: str, colour: str, style: str) -> None:
    """One model's curve; a level line where there is nothing to learn."""
    rows = list(zip(*(run.points for run in line.runs), strict=False))
    rows = [row for row in rows if all(name in point.figures for point in row)]
    if not rows:
        return
    values = [[point.figures[name] for point in row] for row in rows]
    if line.runs[0].parameters == 0:
        axes.axhline(values[-1][0], color="#666666", linestyle=":", label=arm)  # type: ignore[attr-defined]
        return
    places = [mean(_place(point, across) for point in row) for row in rows]
    axes.plot(places, [mean(row) for row in values], style, color=colour, label=arm)  # type: ignore[attr-defined]
    low, high = [min(row) for row in values], [max(row) for row in values]
    axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)  # type: ignore[attr-defined]


def _place(point: Point, across: str) -> float:
    return float(getattr(point, across))
