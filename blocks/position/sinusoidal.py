"""Fixed waves of many lengths, added to the sequence.

    p_{i,2j} = sin(i / 10000^(2j/D)),  p_{i,2j+1} = cos(i / 10000^(2j/D)),  y_i = x_i + p_i

Vaswani et al., 2017. Its state is the number of steps read so far.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from composer.block import Scale
from composer.registry import register
from composer.signals import Seq, State


@register("position", "sinusoidal")
class Sinusoidal(nn.Module):
    causal = True
    enters = "input"

    def __init__(self, dim: int, *, base: Scale = 10000.0) -> None:
        super().__init__()
        self.dim = dim
        self.base = base

    def start(self, batch: int) -> State:
        return {"position": torch.zeros(batch, dtype=torch.long)}

    def forward(self, x: Seq, state: State = None) -> tuple[Seq, State]:
        steps = torch.arange(x.time, device=x.values.device)  # (T,)
        if state is None:
            return x.like(x.values + self.waves(steps).to(x.values.dtype)), None
        waves = self.waves(state["position"][:, None] + steps)  # (B, T, D)
        return x.like(x.values + waves.to(x.values.dtype)), {"position": state["position"] + x.counts}

    def waves(self, positions: Tensor) -> Tensor:
        """(..., D) for positions of any shape (...), computed in float64: late positions keep their phase."""
        even = torch.arange(0, self.dim, 2, device=positions.device, dtype=torch.float64)
        angles = positions[..., None] * self.base ** (-even / self.dim)  # (..., ceil(D / 2))
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., : self.dim]
