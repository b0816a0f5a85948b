"""All steps of a forecast at once (direct multi-step), from one vector or from the last step of a sequence.

    y = s (A z + W h + b) + c,    z = (x - c) / s

h is the vector, x the window that the forecast starts from (the port ``window``), c and s the centre and the deviation
of each channel of the window (RevIN; Kim et al., 2022). A is a linear layer over time that all channels share. A maps
the last ``lags`` steps of the window to the steps of the forecast, as NLinear does (Zeng et al., 2023), in parallel to
the network, as in LSTNet (Lai et al., 2018). A and W are initialised to zero, so that first forecasts are the centre, a
baseline. Without a window, y = W h + b, and W is small. The loss is that of the head ``gaussian``. Errors do not
accumulate over the steps, as they can in autoregressive forecasts; but the data fixes the number of steps. No state.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from composer import Invalid, Range, Seq, UserError, Vec, register

from ..normal import Normal, Variance
from ..recurrence import last_state
from ..revin import Centre, WindowScale, normalised, recent, restored_moments


@register("head", "direct")
class Direct(Normal):
    causal = False  # every step of the forecast reads the whole input
    aligned = False  # the forecast's steps are not the steps of the input

    def __init__(
        self,
        dim: int,
        target_dim: int,
        target_steps: int | None,
        target_names: tuple[str, ...] | None = None,
        window_dim: int | None = None,
        window_names: tuple[str, ...] | None = None,
        window_steps: int | None = None,
        *,
        lags: Literal["all"] | Annotated[int, Range(low=0)] = "all",
        centre: Centre = "last",
        variance: Variance = "fixed",
    ) -> None:
        super().__init__(target_dim, variance)
        if target_steps is None:
            raise Invalid(
                "type",
                "'direct' predicts a fixed number of steps, but this data does not fix the length of what is to be "
                "predicted. Use data that does (data=series), or a head that goes step by step.",
            )
        self.steps = target_steps
        self.baseline = window_dim is not None
        self.project = self.projection(dim, target_steps, centred=self.baseline)
        self.scale: WindowScale | None = None
        self.linear: nn.Linear | None = None
        if window_dim is not None:
            self.scale = WindowScale(target_dim, target_names, window_dim, window_names, centre)
            self._add_linear(lags, window_steps)
        elif lags not in ("all", 0):
            raise Invalid("lags", f"{lags} steps of a window are to be read, but there is none. Connect 'window'.")

    def _add_linear(self, lags: str | int, window_steps: int | None) -> None:
        count = window_steps if isinstance(lags, str) else lags
        if count is None:
            raise Invalid("lags", "this data does not fix the length of the window. Give a number of steps, or 0.")
        if count:
            self.linear = nn.Linear(count, self.steps, bias=False)
            nn.init.zeros_(self.linear.weight)

    def forward(self, x: Seq | Vec, window: Seq | None = None) -> Seq:
        h = last_state(x.filled(), x, x.values.new_zeros(x.batch, x.dim)) if isinstance(x, Seq) else x.values  # (B, D)
        output = self.project(h).unflatten(1, (self.steps, -1))  # (B, steps, C) or (B, steps, 2 C)
        if window is None or self.scale is None:
            return Seq(output)
        scale = self.scale.measure(window)
        if self.linear is not None:
            z = window.like(normalised(self.scale.chosen(window), scale)).filled()
            ahead = self.linear(recent(z, window, self.linear.in_features).transpose(1, 2)).transpose(1, 2)
            mean, rest = output[..., : self.target_dim], output[..., self.target_dim :]
            output = torch.cat([mean + ahead, rest], dim=-1)
        return Seq(restored_moments(output, scale, self.target_dim))

    def loss(self, output: Seq, target: Seq) -> Tensor:
        """(B, T), in nats. A target may have fewer steps than the forecast."""
        if target.time > self.steps:
            raise UserError(
                f"this model forecasts {self.steps} steps at once, but {target.time} are wanted. "
                "Take data with at most as many, or train another model."
            )
        return self.negative_log_likelihood(output.steps(0, target.time), target)
