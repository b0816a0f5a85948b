"""Figures of classifiers and taggers: the confusion matrix, and the reliability diagram of their probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from composer.batching import drawn_rows
from composer.data.source import Split
from composer.metrics.outcomes import BINS, ClassOutcomes
from composer.objectives import Batch, Objective
from composer.views.drawing import palette
from composer.views.figures.style import COLOURS, label, line_axes, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLASSES = 24  # classes of a confusion matrix at most; the rarest ones beyond are drawn as one
NUMBERED = 12  # classes of a confusion matrix with numbers in its cells at most
OTHERS = "(others)"

JUDGED = 1000  # examples of a split that are judged for the figures at most
BATCH = 50  # of them at a time


def judged_batches(objective: Objective, split: Split) -> Iterator[Batch]:
    """Batches of a fixed random sample of a split, or of the whole of a small one."""
    for rows in drawn_rows(objective.size(split), JUDGED).split(BATCH):
        yield objective.batch(split, rows)


def class_figures(outcomes: Mapping[str, ClassOutcomes]) -> dict[str, Figure]:
    """The figures of every head, by file name."""
    figures: dict[str, Figure] = {}
    for name, outcome in outcomes.items():
        if outcome.confusion.sum() == 0:
            continue
        figures[f"confusion_{name}"] = confusion_figure(name, outcome)
        if outcome.bins is not None:
            figures[f"calibration_{name}"] = calibration_figure(name, outcome)
    return figures


@styled
def confusion_figure(name: str, outcome: ClassOutcomes) -> Figure:
    """Targets by row, predictions by column; the colour is the share of the row."""
    names, matrix = _folded(outcome)
    shares = matrix / matrix.sum(1, keepdim=True).clamp(min=1)
    side = max(3.4, 0.34 * len(names))
    figure = new_figure(side + 2.6, side + 1.5)
    axes = figure.add_subplot(title=f"Confusion matrix of {name}", xlabel="predicted", ylabel="target")
    image = axes.imshow(shares.numpy(), cmap="Blues", vmin=0.0, vmax=1.0, interpolation="nearest")
    shown = [label(one) for one in names]
    axes.xaxis.set_ticks(range(len(names)), shown, parse_math=False, rotation=90)
    axes.yaxis.set_ticks(range(len(names)), shown, parse_math=False)
    if len(names) <= NUMBERED:
        for row, column in matrix.nonzero().tolist():
            colour = palette.PAPER if shares[row, column] > 0.6 else palette.INK
            count = f"{matrix[row, column]:.0f}"
            axes.text(column, row, count, ha="center", va="center", color=colour, fontsize=8)
    bar = figure.colorbar(image, ax=axes, label="share of the target class", fraction=0.04, pad=0.02)
    bar.outline.set_visible(False)
    return figure


def _folded(outcome: ClassOutcomes) -> tuple[list[str], Tensor]:
    """The classes that occur, the commonest ones where there are many, the others as one class."""
    matrix = outcome.confusion
    sizes = matrix.sum(0) + matrix.sum(1)
    there = [i for i in sizes.argsort(descending=True, stable=True).tolist() if sizes[i] > 0]
    kept = sorted(there if len(there) <= CLASSES else there[: CLASSES - 1])
    names = [outcome.names[i] for i in kept]
    if len(there) <= CLASSES:
        return names, matrix[kept][:, kept]
    group = torch.full((len(matrix),), len(kept))
    group[kept] = torch.arange(len(kept))
    member = torch.nn.functional.one_hot(group, len(kept) + 1).double()  # (V, groups)
    return [*names, OTHERS], member.t() @ matrix @ member


@styled
def calibration_figure(name: str, outcome: ClassOutcomes) -> Figure:
    """The reliability diagram: the accuracy of predictions by their probability, beside a perfectly calibrated head."""
    assert outcome.bins is not None
    counts, likely, right = outcome.bins.unbind(1)
    there = counts > 0
    error = f"expected calibration error {outcome.calibration_error:.3f}"
    figure, axes = line_axes(f"Calibration of {name}: {error}", "probability of the prediction", "share")
    edges = ((torch.arange(BINS) + 0.5) / BINS).tolist()
    shares = (counts / counts.sum()).tolist()
    axes.bar(edges, shares, width=0.9 / BINS, color=palette.HAIR, label="share of the predictions")
    axes.plot([0, 1], [0, 1], color=palette.SOFT, linestyle="--", linewidth=1.2, label="perfectly calibrated")
    means, accuracies = (likely[there] / counts[there]).tolist(), (right[there] / counts[there]).tolist()
    axes.plot(means, accuracies, color=COLOURS[0], marker="o", markersize=4, label="accuracy")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    figure.legend(loc="outside lower center", ncols=3)
    return figure
