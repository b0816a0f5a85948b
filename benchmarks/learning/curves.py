"""The results as curves: each figure by steps, the mean over the seeds with the range of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from benchmarks.learning.results import Run
from benchmarks.learning.task import Task
from benchmarks.learning.verdicts import Line, line_of

#: Figures that get curves: more are hard to read.
SHOWN = 2

#: A colour a contest; ours is a full line, its peers are broken ones.
COLOURS = ("#1f6fb4", "#c8502d", "#3d8f4f")
DASHES = ("--", ":", "-.", (0, (6, 2)), (0, (1, 3)), (0, (3, 1, 1, 1, 1, 1)))


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
        figure, (axes,) = pyplot.subplots(1, len(shown), figsize=(5 * len(shown), 4), squeeze=False)
        for name, panel in zip(shown, axes, strict=True):
            for arm, line in lines.items():
                _curve(panel, line, name, arm, *_look(task, arm))
            panel.set_ylabel(name.replace("_", " "))
            panel.set_xlabel("steps")
        named = axes[0].get_legend_handles_labels()
        figure.legend(*named, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))  # beside the curves
        figure.suptitle(task.title)
        figure.tight_layout()
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
        pyplot.close(figure)
    return True


def _look(task: Task, arm: str) -> tuple[str, object]:
    """The colour of the first contest that has the model, and a line of its own among the models there."""
    for number, contest in enumerate(task.contests):
        others = [peer.name for peer in (*contest.peers, *contest.steps_to_ours)]
        if arm == contest.ours.name:
            return COLOURS[number % len(COLOURS)], "-"
        if arm in others:
            return COLOURS[number % len(COLOURS)], DASHES[others.index(arm) % len(DASHES)]
    raise KeyError(arm)


def _curve(axes: object, line: Line, name: str, arm: str, colour: str, style: object) -> None:
    """One model's curve; a level line where there is nothing to learn."""
    rows = list(zip(*(run.points for run in line.runs), strict=False))
    rows = [row for row in rows if all(name in point.figures for point in row)]
    if not rows:
        return
    values = [[point.figures[name] for point in row] for row in rows]
    if not line.learns:
        axes.axhline(values[-1][0], color="#666666", linestyle=":", label=arm)  # type: ignore[attr-defined]
        return
    steps = [row[0].step for row in rows]
    means = [mean(row) for row in values]
    axes.plot(steps, means, linestyle=style, color=colour, label=arm)  # type: ignore[attr-defined]
    low, high = [min(row) for row in values], [max(row) for row in values]
    axes.fill_between(steps, low, high, color=colour, alpha=0.15, linewidth=0)  # type: ignore[attr-defined]
