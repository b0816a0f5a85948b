"""Sinusoidal positions: fixed waves of many lengths, added to the sequence or concatenated to it.

    p_{i,2j} = sin(i / base^(2j/D)),  p_{i,2j+1} = cos(i / base^(2j/D)),  y_i = x_i + p_i  or  [x_i; p_i]

with base 10000. Vaswani et al., 2017. The state is the number of steps read so far, (B,).
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from composer import Invalid, Positive, Scale, Seq, State, cached_for_generation, register, show_terms

from .rotary import turning_rates


@register("position", "sinusoidal")
class Sinusoidal(nn.Module):
    causal = True
    enters = "input"
    one: Tensor

    def __init__(
        self, dim: int, *, base: Scale = 10000.0, join: Literal["add", "concat"] = "add", width: Positive | None = None
    ) -> None:
        super().__init__()
        if width is not None and join == "add":
            raise Invalid(
                "width", f"{width} has no effect: what is added is as wide as the sequence. Use join: concat."
            )
        self.base = base
        self.join = join
        self.width = width or dim
        self.out_dim = dim + self.width if join == "concat" else dim
        self.register_buffer("one", torch.ones(()), persistent=False)  # holds the device of the rates

    def start(self, batch: int) -> State:
        return {"position": torch.zeros(batch, dtype=torch.long)}

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        steps = torch.arange(x.time, device=x.values.device)  # (T,)
        if state is None:
            return self._joined(x, self.waves(steps)), None
        waves = self.waves(state["position"][:, None] + steps)  # (B, T, D)
        return self._joined(x, waves), {"position": state["position"] + x.counts}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        waves = self.waves(state["position"]).to(x.dtype)  # (B, D)
        y = x + waves if self.join == "add" else torch.cat([x, waves], dim=-1)
        return y, {"position": state["position"] + 1}

    def _joined(self, x: Seq, waves: Tensor) -> Seq:
        waves = waves.to(x.values.dtype)
        if self.join == "add":
            show_terms(self, lambda: {"input": x, "positions": x.like(waves.expand_as(x.values))})
            return x.like(x.values + waves)
        return x.like(torch.cat([x.values, waves.expand(x.batch, -1, -1)], dim=-1))

    def waves(self, positions: Tensor) -> Tensor:
        """(..., D) for positions of any shape (...), computed in float64, so that late positions have exact phases."""
        angles = positions[..., None] * self._rates  # (..., ceil(D / 2))
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)[..., : self.width]

    @cached_for_generation
    def _rates(self) -> Tensor:
        return turning_rates(self.width, self.base, self.one.device)
