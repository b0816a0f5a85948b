"""A small 1-D convolutional network over frames.

    y = f(W_n * ... f(W_1 * x)),  f = gelu, relu or silu

Each layer reads ``kernel`` steps around every ``stride``-th step, so that every layer turns T steps into
ceil(T / stride): a model of sound at 100 frames a second can run at a lower rate. The kernels read later steps, so this
block is not causal. Padding is replaced by zeros, like the steps beyond the end. After Radford et al., 2022; kernels
are initialised as in He et al., 2015. No state.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Literal

import torch.nn.functional as F
from torch import Tensor, nn

from composer import Positive, Probability, Seq, register

from ..linear import keep_size

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"gelu": F.gelu, "relu": F.relu, "silu": F.silu}


@register("embedding", "conv_stem")
class ConvStem(nn.Module):
    causal = False

    def __init__(
        self,
        dim: int,
        *,
        dim_out: Positive,
        depth: Positive = 2,
        kernel: Positive = 3,
        stride: Positive = 1,
        activation: Literal["gelu", "relu", "silu"] = "gelu",
        dropout: Probability = 0.0,
    ) -> None:
        super().__init__()
        self.reach = kernel - 1
        self.stride = stride
        self.activation = ACTIVATIONS[activation]
        widths = [dim, *[dim_out] * depth]
        layers = [nn.Conv1d(*pair, kernel, stride) for pair in pairwise(widths)]
        for layer in layers:
            keep_size(layer, gain=math.sqrt(2))
        self.layers = nn.ModuleList(layers)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Seq) -> Seq:
        left = self.reach // 2
        for layer in self.layers:
            values = F.pad(x.filled().transpose(1, 2), (left, self.reach - left))  # (B, D, T + kernel - 1)
            lengths = None if x.lengths is None else (x.lengths + self.stride - 1) // self.stride
            x = Seq(self.activation(layer(values)).transpose(1, 2), lengths)  # (B, ceil(T / stride), D)
        return x.like(self.dropout(x.values))
