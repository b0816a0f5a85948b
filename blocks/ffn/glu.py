"""The gated feed-forward network (GLU), at every step by itself.

    y_t = W_2 (f(W_g x_t + b_g) * (W_1 x_t + b_1)) + b_2

f = silu is SwiGLU, gelu GEGLU, relu ReGLU, sigmoid the original GLU. With an expansion of 8/3 it has as many parameters
as the ungated network ``mlp`` with an expansion of 4. Dauphin et al., 2017; Shazeer, 2020. No state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer import Pointwise, Probability, Scale, register

GATES: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": F.silu,
    "gelu": F.gelu,
    "relu": F.relu,
    "sigmoid": torch.sigmoid,
}


@register("ffn", "glu")
class GLU(Pointwise):
    def __init__(
        self,
        dim: int,
        *,
        expansion: Scale = 2.667,
        activation: Literal["silu", "gelu", "relu", "sigmoid"] = "silu",
        dropout: Probability = 0.0,
        bias: bool = False,
    ) -> None:
        super().__init__()
        hidden = max(1, round(dim * expansion))
        self.rise = nn.Linear(dim, 2 * hidden, bias=bias)
        self.gate = GATES[activation]
        self.dropout = nn.Dropout(dropout)
        self.fall = nn.Linear(hidden, dim, bias=bias)

    def map(self, values: Tensor) -> Tensor:
        gate, value = self.rise(values).chunk(2, dim=-1)  # (..., H) each
        return self.fall(self.dropout(self.gate(gate) * value))
