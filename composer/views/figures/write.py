"""Writes all figures of a run into a folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composer.graph.graph import Graph
from composer.metrics.outcomes import ClassOutcomes
from composer.objectives import Batch
from composer.views.figures.attention_maps import attention_figure, attention_maps
from composer.views.figures.class_figures import class_figures
from composer.views.figures.gradient_figures import gradient_by_step, gradient_figure
from composer.views.figures.learning_curves import learning_curves, throughput
from composer.views.figures.style import save_figures

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_figures(
    folder: Path, graph: Graph, batch: Batch, rows: Sequence[Mapping[str, Any]], outcomes: Mapping[str, ClassOutcomes]
) -> dict[str, Path]:
    """Write the figures of a model on a batch, of a run's metrics ``rows``, and of heads that predict classes.

    Returns the files by name.
    """
    figures: dict[str, Figure | None] = {"learning_curves": learning_curves(rows), "throughput": throughput(rows)}
    figures |= class_figures(outcomes)
    gradients = gradient_by_step(graph, batch)
    figures["gradient_by_step"] = gradient_figure(gradients) if gradients else None
    for name, shown in attention_maps(graph, batch).items():
        figures[f"attention_{name.replace('.', '_')}"] = attention_figure(name, shown)
    return save_figures(folder, {name: figure for name, figure in figures.items() if figure is not None})
