"""An image cut into square patches: a sequence, row by row.

    y_n = W vec(patch_n) + b

As in the vision transformer, Dosovitskiy et al., 2020. The place of each patch is encoded by the stack's positions.
W is drawn from N(0, 1/n) for the n numbers of a patch, so that pixels of unit size give features of unit size. No
state.
"""

from __future__ import annotations

from torch import nn

from composer import Image, Invalid, Positive, Probability, Seq, register

from ..linear import keep_size


@register("embedding", "patches")
class Patches(nn.Module):
    def __init__(
        self, channels: int, height: int, width: int, *, dim: Positive, size: Positive = 4, dropout: Probability = 0.0
    ) -> None:
        super().__init__()
        if height % size or width % size:
            fits = [str(n) for n in range(1, min(height, width) + 1) if height % n == 0 and width % n == 0]
            raise Invalid(
                "size", f"patches of {size} do not cut {height} x {width} pixels evenly. Use {', '.join(fits)}."
            )
        self.project = nn.Conv2d(channels, dim, size, stride=size)
        keep_size(self.project)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Image) -> Seq:
        values = self.project(x.values)  # (B, D, H / size, W / size)
        return Seq(self.dropout(values.flatten(2).transpose(1, 2)))  # (B, N, D)
