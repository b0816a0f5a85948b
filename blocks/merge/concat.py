"""Signals concatenated by feature: their widths add up.

    y_t = [x_1,t; x_2,t; ...]

No state.
"""

from __future__ import annotations

import torch
from torch import nn

from composer import Invalid, Seq, Vec, register


@register("merge", "concat")
class Concat(nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, *inputs: Seq | Vec) -> Seq | Vec:
        first = inputs[0]
        if any(type(x) is not type(first) or x.values.shape[:-1] != first.values.shape[:-1] for x in inputs):
            shapes = ", ".join(f"{x.kind} {tuple(x.values.shape)}" for x in inputs)
            raise Invalid("from", f"only signals over one time axis can stand side by side, found {shapes}.")
        return first.like(torch.cat([x.values for x in inputs], dim=-1))
