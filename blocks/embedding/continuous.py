"""A linear projection of real-valued frames.

    y_t = W x_t + b

For time series, spectrogram frames and any other vectors. With the port ``window``, x_t is first normalised by that
sequence (RevIN; Kim et al., 2022): (x_t - c) / s for the centre c and the deviation s of each channel of the window, so
that series of any level and scale have a similar distribution. The window is the sequence itself, ``{x: source, window:
source}``, or the sequence that x continues, ``{x: target, window: source}``. Frames of size 1 give vectors of about
size 1. The bias has torch's default initialisation, not zero: with ``centre: last`` the last frame of a normalised
window is zero, and a vector of zeros would get a huge gradient from a norm after this block. The state is c and s,
(B, C) each, if there is a window.
"""

from __future__ import annotations

import math

from torch import Tensor, nn

from composer import Positive, Probability, Seq, State, register

from ..revin import Centre, WindowScale, normalised


@register("embedding", "continuous")
class Continuous(nn.Module):
    def __init__(
        self,
        dim: int,
        names: tuple[str, ...] | None = None,
        window_dim: int | None = None,
        window_names: tuple[str, ...] | None = None,
        window_fixed: tuple[str, ...] | None = None,
        *,
        dim_out: Positive,
        dropout: Probability = 0.0,
        centre: Centre = "last",
    ) -> None:
        super().__init__()
        self.scale: WindowScale | None = None
        if window_dim is not None:
            self.scale = WindowScale(dim, names, window_dim, window_names, centre, window_fixed)
        self.project = nn.Linear(dim, dim_out)
        nn.init.normal_(self.project.weight, std=1 / math.sqrt(dim))
        self.dropout = nn.Dropout(dropout)

    def start(self, batch: int, window: Seq | None = None) -> State:
        return {} if window is None or self.scale is None else self.scale.measure(window)

    def forward(self, x: Seq, state: State | None = None, *, window: Seq | None = None) -> tuple[Seq, State | None]:
        scale = state or self.start(x.batch, window)
        return x.like(self._vectors(x.filled(), scale)), state  # (B, T, D)

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        return self._vectors(x, state), state

    def _vectors(self, frames: Tensor, scale: State) -> Tensor:
        """(B, D) or (B, T, D)"""
        return self.dropout(self.project(normalised(frames, scale) if scale else frames))
