"""Linear layers that keep the size of what they read."""

from __future__ import annotations

from torch import nn


def unit_linear(dim: int, dim_out: int, *, bias: bool = True) -> nn.Linear:
    """Weights from N(0, 1/D) and biases of zero: features of unit size stay so (LeCun et al., 1998).

    torch.nn.Linear's own start, U(-1/sqrt(D), 1/sqrt(D)), shrinks them by sqrt(3).
    """
    layer = nn.Linear(dim, dim_out, bias=bias)
    nn.init.normal_(layer.weight, std=dim**-0.5)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
