"""A 1-D convolution over time.

    y_t = sum_k W_k x_{t - k d} + b,  k = 0 .. kernel - 1,  d = dilation

or, if it is not causal, with a window centred at t. Separable (depthwise): each feature has its own kernel, then one
matrix mixes the features (Kaiser et al., 2017); full: W_k is a matrix (LeCun et al., 1989). Dilated: van den Oord et
al., 2016. The state is the last (kernel - 1) * dilation steps read, (B, (kernel - 1) * dilation, D).
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

from composer import Positive, Seq, State, refuse_to_stream, register

from ..window import centred, recent


@register("mixer", "conv")
class Conv(nn.Module):
    def __init__(
        self,
        dim: int,
        causal: bool,
        *,
        kernel: Positive = 4,
        dilation: Positive = 1,
        form: Literal["separable", "full"] = "separable",
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.causal = causal
        self.reach = (kernel - 1) * dilation
        separable = form == "separable"
        self.convolve = nn.Conv1d(
            dim, dim, kernel, dilation=dilation, groups=dim if separable else 1, bias=bias and not separable
        )
        self.mix = nn.Linear(dim, dim, bias=bias) if separable else None

    def start(self, batch: int) -> State:
        if not self.causal:
            refuse_to_stream(self)
        return {"recent": self.convolve.weight.new_zeros(batch, self.reach, self.convolve.in_channels)}

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        if not self.causal:
            if state is not None:
                refuse_to_stream(self)
            return self._over(x, centred(x.filled(), self.reach)), None
        before = (state or self.start(x.batch))["recent"]
        values = torch.cat([before, x.filled().to(before.dtype)], dim=1)  # (B, reach + T, D)
        return self._over(x, values), None if state is None else {"recent": recent(values, x, self.reach)}

    def _over(self, x: Seq, values: torch.Tensor) -> Seq:
        y = self.convolve(values.transpose(1, 2)).transpose(1, 2)  # (B, T, D)
        return x.like(y if self.mix is None else self.mix(y))
