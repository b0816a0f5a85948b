"""A small convolutional network from an image to one vector.

    x <- gelu(norm(W_l * x)), each layer at half the height and width;  y = W [mean over each cell of a grid] + b

The number of filters doubles with every layer. A grid of 1 is the mean over the whole image; a finer grid also keeps
where things are. LeCun et al., 1989; the norm is a group norm over all channels of a layer, Wu and He, 2018. No state.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import nn

from composer import Image, Positive, Probability, Vec, register

from ..linear import keep_size, unit_linear


@register("embedding", "image_cnn")
class ImageCNN(nn.Module):
    def __init__(
        self,
        channels: int,
        *,
        dim: Positive,
        depth: Positive = 2,
        filters: Positive = 32,
        kernel: Positive = 3,
        grid: Positive = 2,
        dropout: Probability = 0.0,
    ) -> None:
        super().__init__()
        self.grid = grid
        self.layers = nn.ModuleList()
        for layer in range(depth):
            wide = filters * 2**layer
            convolution = nn.Conv2d(channels, wide, kernel, stride=2, padding=kernel // 2)
            keep_size(convolution)
            self.layers.append(nn.Sequential(convolution, nn.GroupNorm(1, wide), nn.GELU()))
            channels = wide
        self.dropout = nn.Dropout(dropout)
        self.project = unit_linear(channels * grid * grid, dim)

    def forward(self, x: Image) -> Vec:
        values = x.values
        for layer in self.layers:
            values = layer(values)  # (B, filters * 2^l, H / 2^(l+1), W / 2^(l+1))
        cells = F.adaptive_avg_pool2d(values, self.grid).flatten(1)
        return Vec(self.project(self.dropout(cells)))  # (B, D)
