"""A moving average of every channel.

    h_t = a h_{t-1} + (1 - a) x_t,  a = sigmoid(d)

d is learned, one for every channel. The state is h, (B, D).
"""

from __future__ import annotations

import torch
from composer import Probability, Recurrence, State, register
from torch import Tensor, nn


@register("mixer", "moving_average")
class MovingAverage(Recurrence):
    causal = True  # reads only the past

    def __init__(self, dim: int, *, slowest: Probability = 0.99) -> None:
        super().__init__()
        self.decay = nn.Parameter(torch.logit(torch.linspace(0.5, slowest, dim)))  # (D,)

    def start(self, batch: int) -> State:
        return {"h": self.decay.new_zeros(batch, len(self.decay))}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        decay = torch.sigmoid(self.decay)
        h = decay * state["h"] + (1 - decay) * x  # (B, D)
        return h, {"h": h}
