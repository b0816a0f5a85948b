"""Principal component analysis (PCA; Pearson, 1901) to two dimensions, and its figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

from composer.views.drawing import palette
from composer.views.figures.style import COLOURS, label, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAMED = 120  # points with a name, at most
APART = 0.022  # least distance between two named points, as a share of the figure's width
GROUPS = len(COLOURS)  # groups with a colour of their own; the others are grey


def principal(points: Tensor) -> tuple[Tensor, Tensor]:
    """Points (N, D) in their first two principal components, (N, 2), and each component's share of variance, (2,).

    The sign of a component is arbitrary; it is chosen so that the component's largest entry is positive. Of a single
    component, the second coordinate is 0.
    """
    centred = points.double() - points.double().mean(0)
    _, sizes, directions = torch.linalg.svd(centred, full_matrices=False)
    shares, directions = (sizes.square() / sizes.square().sum().clamp(min=1e-30))[:2], directions[:2]
    significant = sizes[:2] > 1e-6 * sizes[:1]  # smaller components are rounding errors
    largest = directions.gather(1, directions.abs().argmax(1, keepdim=True))
    directions = directions * torch.where(largest < 0, -1.0, 1.0)
    lacking = (0, 2 - len(shares))
    return pad((centred @ directions.T) * significant, lacking), pad(shares, lacking)


@styled
def projection_figure(
    title: str, points: Tensor, names: Sequence[str] | None = None, groups: Sequence[str] | None = None,
    legend: str = "", steps: Sequence[int] | None = None,
) -> Figure:  # fmt: skip
    """Points (N, D) in two dimensions: named, coloured by group, or by their time step."""
    places, explained = principal(points)
    figure = new_figure(7.6, 5.6)
    axes = figure.add_subplot(title=title)
    axes.set_xlabel(f"first direction, {100 * explained[0]:.0f} % of the variance")
    axes.set_ylabel(f"second direction, {100 * explained[1]:.0f} %")
    axes.axhline(0, color=palette.HAIR, linewidth=0.8)
    axes.axvline(0, color=palette.HAIR, linewidth=0.8)
    x, y = places.T.tolist()
    if groups is not None:
        common = sorted(set(groups), key=lambda group: (-list(groups).count(group), group))[:GROUPS]
        rest = [i for i, group in enumerate(groups) if group not in common]
        for colour, group in zip(COLOURS, common, strict=False):
            own = [i for i, other in enumerate(groups) if other == group]
            axes.scatter(
                [x[i] for i in own], [y[i] for i in own], s=13, color=colour, alpha=0.75, label=f" {label(group)}"
            )
        if rest:
            axes.scatter(
                [x[i] for i in rest],
                [y[i] for i in rest],
                s=9,
                color=palette.HAIR,
                zorder=0,
                label=f"{len(set(groups)) - GROUPS} others",
            )
        axes.legend(title=legend, alignment="left", loc="center left", bbox_to_anchor=(1.0, 0.5))
    elif steps is not None:
        drawn = axes.scatter(x, y, s=13, c=list(steps), cmap="viridis", alpha=0.8)
        figure.colorbar(drawn, ax=axes, label=legend or "time step", pad=0.01).outline.set_visible(False)
    else:
        axes.scatter(x, y, s=7, color=COLOURS[0], alpha=0.5)
    if names is not None:
        for i in readable(places)[:NAMED]:
            axes.annotate(label(names[i]), (x[i], y[i]), xytext=(3, 2), textcoords="offset points", fontsize=9,
                          parse_math=False)  # fmt: skip
    return figure


def readable(places: Tensor) -> list[int]:
    """The indices of points that are far enough from all earlier chosen points to have a name."""
    size = (places.amax(0) - places.amin(0)).clamp(min=1e-12)
    unit = places / size
    kept: list[int] = []
    for i in range(len(unit)):
        if not kept or float((unit[kept] - unit[i]).abs().amax(1).min()) > APART:
            kept.append(i)
    return kept
