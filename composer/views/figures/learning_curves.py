"""Learning curves and throughput of a run: losses and tokens per second over the steps, from the run's metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from composer.views.drawing import palette
from composer.views.figures.style import line_axes, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEP, LOSS, SPEED = "step", "loss", "tokens_per_second"
NAMES = {LOSS: "training", f"valid/{LOSS}": "validation", f"test/{LOSS}": "test"}

#: A curve of more points than this is drawn as a running mean, with the points faint behind the mean.
MANY = 60

#: If the largest loss is more than this many times the smallest, the scale is logarithmic.
WIDE = 20.0

LogRows = Sequence[Mapping[str, Any]]


@styled
def learning_curves(rows: LogRows) -> Figure | None:
    """Every loss over the steps; None if no row has a loss."""
    names = [name for name in dict.fromkeys(key for row in rows for key in row) if name.rpartition("/")[2] == LOSS]
    curves = {name: points for name in names if (points := _points(rows, name))}
    if not curves:
        return None
    figure, axes = line_axes("Learning curves", "optimiser step", "loss (nats)")
    everything = [y for points in curves.values() for _, y in points]
    if min(everything) > 0 and max(everything) / min(everything) > WIDE:
        axes.set_yscale("log")
    for name, points in curves.items():
        steps, losses = zip(*points, strict=True)
        many = len(points) > MANY
        shown = _running_mean(losses, len(points) // 30) if many else losses
        (line,) = axes.plot(steps, shown, marker=None if many else "o", markersize=3.5, label=NAMES.get(name, name))
        if many:
            axes.plot(steps, losses, "-", color=line.get_color(), alpha=0.25, linewidth=0.8, zorder=1.9)
        if name != LOSS:  # the lowest value of the noisy training loss is meaningless
            step, best = min(points, key=lambda point: point[::-1])
            line.set_label(f"{line.get_label()}, at best {best:.4g} at step {step}")
            axes.plot([step], [best], "o", color=line.get_color(), markersize=9, markerfacecolor="none", zorder=1.9)
    axes.legend()
    return figure


@styled
def throughput(rows: LogRows) -> Figure | None:
    """Tokens per second over the steps; None if no row has them."""
    points = _points(rows, SPEED)
    if not points:
        return None
    from matplotlib.ticker import EngFormatter

    figure, axes = line_axes("Throughput", "optimiser step", "tokens per second")
    steps, speeds = zip(*points, strict=True)
    axes.plot(steps, speeds, marker="o" if len(points) <= MANY else None, markersize=3.5, linewidth=1.5)
    middle = sorted(speeds)[len(speeds) // 2]
    label = f"median {EngFormatter(places=1, sep='')(middle)}"
    axes.axhline(middle, color=palette.INK, linewidth=1.2, linestyle=(0, (4, 3)), label=label)
    axes.set_ylim(0, 1.15 * max(speeds))
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.legend()
    return figure


def _points(rows: LogRows, name: str) -> list[tuple[int, float]]:
    """The finite values of one metric, with their steps."""
    found = [(int(row[STEP]), float(row[name])) for row in rows if row.get(name) is not None]
    return [(step, value) for step, value in found if math.isfinite(value)]


def _running_mean(values: Sequence[float], reach: int) -> list[float]:
    """The mean of each value and up to ``reach`` values on each side. Near the ends, both sides get shorter alike."""
    sums = [0.0, *accumulate(values)]
    last = len(values) - 1
    reaches = [min(reach, place, last - place) for place in range(len(values))]
    return [(sums[i + r + 1] - sums[i - r]) / (2 * r + 1) for i, r in enumerate(reaches)]
