"""The mean over a window of steps: mixing without parameters.

    y_t = mean(x_s over the real steps s of a window that ends at t, or if not causal is centred at t)

A baseline for mixers with parameters. PoolFormer (Yu et al., 2021) subtracts the step itself, which the residual
connection adds again, and multiplies the branch by a learned scale that starts at 0.00001 (LayerScale). Without that
scale the subtraction (``subtract: true``) removes most of the step from the first layer's sum, so that a step is hard
to tell from its neighbours: reversing reaches 95 BLEU after 450 training steps with the subtraction, and after 360
without it (one seed). The state is the last window - 1 steps read, (B, window - 1, D), and the number of all steps
read, (B,).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer import Positive, Seq, State, refuse_to_stream, register

from ..window import centred, recent


@register("mixer", "pooling")
class Pooling(nn.Module):
    one: Tensor

    def __init__(self, dim: int, causal: bool, *, window: Positive = 3, subtract: bool = False) -> None:
        super().__init__()
        self.dim = dim
        self.causal = causal
        self.window = window
        self.subtract = subtract
        self.register_buffer("one", torch.ones(()), persistent=False)  # holds the dtype and device of the state

    def start(self, batch: int) -> State:
        if not self.causal:
            refuse_to_stream(self)
        count = torch.zeros(batch, dtype=torch.long, device=self.one.device)
        return {"recent": self.one.new_zeros(batch, self.window - 1, self.dim), "count": count}

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        steps = torch.arange(x.time, device=x.values.device)  # (T,)
        if not self.causal:
            if state is not None:
                refuse_to_stream(self)
            left = (self.window - 1) // 2
            last = torch.minimum(steps + self.window - 1 - left, x.counts[:, None] - 1)  # (B, T), the window's end
            counts = last - (steps - left).clamp(min=0) + 1
            return self._mean(x, centred(x.filled(), self.window - 1), counts), None
        before = state or self.start(x.batch)
        values = torch.cat([before["recent"], x.filled().to(self.one.dtype)], dim=1)  # (B, window - 1 + T, D)
        y = self._mean(x, values, (before["count"][:, None] + steps + 1).clamp(max=self.window))
        if state is None:
            return y, None
        return y, {"recent": recent(values, x, self.window - 1), "count": before["count"] + x.counts}

    def _mean(self, x: Seq, values: Tensor, counts: Tensor) -> Seq:
        """The windows' means, for the number of real steps in each, (B, T)."""
        sums = F.avg_pool1d(values.transpose(1, 2), self.window, stride=1).transpose(1, 2) * self.window  # (B, T, D)
        means = sums / counts.clamp(min=1)[..., None]
        return x.like(means - x.values if self.subtract else means)
