"""The figure of a forecast: the given steps, the target, and the model's prediction with its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor

from composer.views.drawing import palette
from composer.views.figures.style import COLOURS, label, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHANNELS = 4  # channels drawn at most, one below the other


@styled
def forecast_figure(
    title: str, predicted: Tensor, bounds: Sequence[Tensor], given: Tensor | None, wanted: Tensor,
    channels: Sequence[str] | None = None,
) -> Figure:  # fmt: skip
    """The forecast for one example. All tensors are (steps, channels).

    bounds: lower and upper bounds at every step; empty if there are none
    given: the steps before the forecast, of the same channels; None if there are none
    wanted: the target
    channels: their names
    """
    count = min(CHANNELS, predicted.shape[1])
    figure = new_figure(7.6, 1.2 + 1.7 * count)
    figure.suptitle(title, x=0.01, ha="left")
    start = 0 if given is None else len(given)
    ahead = list(range(start, start + len(predicted)))
    for channel, axes in enumerate(figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]):
        if given is not None:
            axes.plot(range(start), given[:, channel].tolist(), color=palette.SOFT, linewidth=1.4, label="given")
        if bounds:
            drawn = (bound[:, channel].tolist() for bound in bounds)
            axes.fill_between(ahead, *drawn, color=COLOURS[0], alpha=0.18, linewidth=0, label="95 % of what it draws")
        axes.plot(ahead, predicted[:, channel].tolist(), color=COLOURS[0], label="predicted")
        axes.plot(ahead, wanted[:, channel].tolist(), color=COLOURS[1], linewidth=1.4, linestyle="--", label="wanted")
        if predicted.shape[1] > 1:
            name = f"channel {channel + 1}" if channels is None else label(channels[channel])
            axes.set_ylabel(name, parse_math=False)
        elif channels is not None:
            axes.set_ylabel(label(channels[0]), parse_math=False)
        if channel == 0:
            axes.legend(ncols=4, loc="lower left", bbox_to_anchor=(0, 1.0), borderaxespad=0.1)
    axes.set_xlabel("step")
    axes.locator_params(axis="x", integer=True)
    return figure
