"""Linear maps that keep the size of what they read."""

from __future__ import annotations

from torch import nn


def keep_size(layer: nn.Linear | nn.Conv1d | nn.Conv2d, gain: float = 1.0) -> None:
    """Weights from N(0, gain^2 / n) for the n numbers that an output reads, and biases of zero.

    Features of unit size then stay so (LeCun et al., 1998); torch's own start shrinks them by sqrt(3). A gain of
    sqrt(2) makes up for a rectifier behind the layer (He et al., 2015).
    """
    fan_in = layer.weight[0].numel()
    nn.init.normal_(layer.weight, std=gain * fan_in**-0.5)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)


def unit_linear(dim: int, dim_out: int, *, bias: bool = True) -> nn.Linear:
    """A linear layer that keeps the size of its features."""
    layer = nn.Linear(dim, dim_out, bias=bias)
    keep_size(layer)
    return layer
