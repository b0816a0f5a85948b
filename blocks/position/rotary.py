"""Rotary positions (RoPE): pairs of features are rotated by an angle that grows with the position.

    (y_{2j} + i y_{2j+1}) = (x_{2j} + i x_{2j+1}) e^{i p theta_j},  theta_j = base^(-2j/D)

so that the dot product of a query at p and a key at q depends on p - q. Su et al., 2021. Attention rotates its queries
and keys by ``rotate``; as a node of its own, this block rotates a whole sequence. The state is the number of steps read
so far, (B,).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from composer import Invalid, Scale, Seq, State, cached_for_generation, register


@register("position", "rotary")
class Rotary(nn.Module):
    causal = True
    enters = "attention"
    one: Tensor

    def __init__(self, dim: int, *, base: Scale = 10000.0) -> None:
        super().__init__()
        if dim % 2:
            raise Invalid("", f"'rotary' turns pairs of features, but the width it acts on is {dim}. Make it even.")
        self.dim = dim
        self.base = base
        self.register_buffer("one", torch.ones(()), persistent=False)  # holds the device of the rates

    def start(self, batch: int) -> State:
        return {"position": torch.zeros(batch, dtype=torch.long)}

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        steps = torch.arange(x.time, device=x.values.device)  # (T,)
        if state is None:
            return x.like(self.rotate(x.values, steps)), None
        turned = self.rotate(x.values, state["position"][:, None] + steps)
        return x.like(turned), {"position": state["position"] + x.counts}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        return self.rotate(x, state["position"]), {"position": state["position"] + 1}

    def rotate(self, values: Tensor, positions: Tensor) -> Tensor:
        """Rotate ``values`` (..., T, D) by their ``positions``, of a shape that broadcasts to (..., T)."""
        return rotate(values, positions, self._rates)

    @cached_for_generation
    def _rates(self) -> Tensor:
        return turning_rates(self.dim, self.base, self.one.device)


def turning_rates(dim: int, base: float, device: torch.device) -> Tensor:
    """(ceil(D / 2),): theta_j, in float64, so that late positions have exact phases."""
    return base ** (-torch.arange(0, dim, 2, device=device, dtype=torch.float64) / dim)


def rotate(values: Tensor, positions: Tensor, rates: Tensor) -> Tensor:
    """Rotate pairs of features of ``values`` (..., T, D), D even, by ``positions``, which broadcast to (..., T)."""
    wide = torch.float64 if values.dtype == torch.float64 else torch.float32
    angles = positions[..., None] * rates  # (..., T, D / 2)
    pairs = values.to(wide).unflatten(-1, (-1, 2))  # (..., T, D / 2, 2)
    if torch.compiler.is_exporting():  # ONNX has no complex numbers
        (a, b), cosine, sine = pairs.unbind(-1), angles.cos().to(wide), angles.sin().to(wide)
        turned = torch.stack([a * cosine - b * sine, a * sine + b * cosine], dim=-1)
    else:
        turns = torch.polar(torch.ones_like(angles), angles).to(wide.to_complex())
        turned = torch.view_as_real(torch.view_as_complex(pairs) * turns)
    return turned.flatten(-2).to(values.dtype)
