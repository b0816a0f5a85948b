"""The feed-forward network, at every step by itself.

    y_t = W_2 f(W_1 x_t + b_1) + b_2,  f = relu, gelu or silu

Vaswani et al., 2017. No state.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor, nn

from composer import Pointwise, Probability, Scale, register

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU}


@register("ffn", "mlp")
class MLP(Pointwise):
    def __init__(
        self,
        dim: int,
        *,
        expansion: Scale = 4,
        activation: Literal["relu", "gelu", "silu"] = "gelu",
        dropout: Probability = 0.0,
        bias: bool = True,
    ) -> None:
        super().__init__()
        hidden = max(1, round(dim * expansion))
        self.rise = nn.Linear(dim, hidden, bias=bias)
        self.activation = ACTIVATIONS[activation]()
        self.dropout = nn.Dropout(dropout)
        self.fall = nn.Linear(hidden, dim, bias=bias)

    def map(self, values: Tensor) -> Tensor:
        return self.fall(self.dropout(self.activation(self.rise(values))))  # (..., H) inside
