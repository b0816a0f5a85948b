"""Reversible normalisation by the window that a forecast starts from (RevIN; Kim et al., 2022).

    z_t = (x_t - c) / s,    x_t = s z_t + c

s is the standard deviation of a channel over the real steps of the row's window. c is the channel's mean over these
steps, or its last value (as in NLinear; Zeng et al., 2023). RevIN's learned scale and offset are left out: the linear
layers after the first formula and before the second can learn them. For channels that are never rescaled, such as the
features of a calendar, c is 0 and s is 1: their level says what they mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from composer import Invalid, Seq

Centre = Literal["mean", "last"]

#: Added to the variance, as in the paper, so that dividing by the deviation of a constant window is possible.
EPSILON = 1e-5


class WindowScale:
    """The centre c and the deviation s of a window, for the channels of the window that a block needs."""

    def __init__(
        self,
        dim: int,
        names: tuple[str, ...] | None,
        window_dim: int,
        window_names: tuple[str, ...] | None,
        centre: Centre,
        fixed: tuple[str, ...] | None = None,
    ) -> None:
        self.places = _places(dim, names, window_dim, window_names)
        self.fixed = [place for place, name in enumerate(names or ()) if name in (fixed or ())]
        self.centre = centre

    def measure(self, window: Seq) -> dict[str, Tensor]:
        """``centre`` and ``deviation``, (B, C) each; 0 and almost 0 for a row without a real step."""
        values = self.chosen(window)  # (B, T, C)
        count = window.counts.clamp(min=1).to(values.dtype)[:, None]
        mean = values.sum(1) / count
        away = window.like(values - mean[:, None]).filled()
        deviation = (away.square().sum(1) / count + EPSILON).sqrt()
        centre = mean if self.centre == "mean" else recent(values, window, 1)[:, 0]
        if self.fixed:
            index = torch.tensor(self.fixed, device=values.device)
            centre, deviation = centre.index_fill(1, index, 0.0), deviation.index_fill(1, index, 1.0)
        return {"centre": centre, "deviation": deviation}

    def chosen(self, window: Seq) -> Tensor:
        """(B, T, C): the needed channels of the window, zero in the padding."""
        values = window.filled()
        return values if self.places is None else values[..., self.places]


def normalised(values: Tensor, scale: Mapping[str, Tensor]) -> Tensor:
    """(x - c) / s for values x, (B, C) or (B, T, C)."""
    centre, deviation = _fitting(values, scale)
    return (values - centre) / deviation


def restored(values: Tensor, scale: Mapping[str, Tensor]) -> Tensor:
    """s z + c for values z, (B, C) or (B, T, C): the inverse of ``normalised``."""
    centre, deviation = _fitting(values, scale)
    return values * deviation + centre


def restored_moments(values: Tensor, scale: Mapping[str, Tensor], dim: int) -> Tensor:
    """Normalised means, (..., dim), followed by log-variances if there are any, converted to the units of the data."""
    mean, log_variance = restored(values[..., :dim], scale), values[..., dim:]
    if not log_variance.shape[-1]:
        return mean
    _, deviation = _fitting(values, scale)
    return torch.cat([mean, log_variance + 2 * deviation.log()], dim=-1)


def recent(values: Tensor, window: Seq, count: int) -> Tensor:
    """(B, count, C): the last real steps of every row, oldest first; zeros first if a row has fewer."""
    index = window.counts[:, None] - count + torch.arange(count, device=values.device)  # (B, count)
    index = index[..., None]
    found = values.gather(1, index.clamp(min=0).expand(-1, -1, values.shape[-1]))
    return found.masked_fill(index < 0, 0.0)


def _fitting(values: Tensor, scale: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Centre and deviation, with a time axis if the values have one."""
    centre, deviation = scale["centre"], scale["deviation"]
    return (centre[:, None], deviation[:, None]) if values.dim() == 3 else (centre, deviation)


def _places(
    dim: int, names: tuple[str, ...] | None, window_dim: int, window_names: tuple[str, ...] | None
) -> list[int] | None:
    """The indices of the needed channels in the window; None if they are all of its channels in the same order."""
    if names is None or window_names is None:
        if dim == window_dim:
            return None
        raise Invalid(
            "from",
            f"the window has {window_dim} channels and {dim} are needed, but the channels have no names that say which "
            "ones. Take a window with the same channels.",
        )
    missing = [name for name in names if name not in window_names]
    if missing:
        raise Invalid(
            "from",
            f"the window lacks the channel '{missing[0]}' (it has: {', '.join(window_names)}). "
            "Take a window that has every channel that is normalised by it.",
        )
    places = [window_names.index(name) for name in names]
    return None if places == list(range(window_dim)) else places
