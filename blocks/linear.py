"""Initialisation of linear maps so that they keep the size (root mean square) of their input."""

from __future__ import annotations

from torch import nn


def keep_size(layer: nn.Linear | nn.Conv1d | nn.Conv2d, gain: float = 1.0) -> None:
    """Draw weights from N(0, gain^2 / n) for the fan-in n, the inputs of each output, and set biases to zero.

    Features of unit size then keep unit size (LeCun et al., 1998); torch's default initialisation shrinks them by
    sqrt(3). A gain of sqrt(2) compensates for a rectifier (ReLU) after the layer (He et al., 2015).
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
