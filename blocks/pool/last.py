"""The last step.

    y = x_T

where T is each row's own length; a row without real steps gives zero. No state.
"""

from __future__ import annotations

from torch import nn

from composer import Seq, Vec, register

from ..recurrence import last_state


@register("pool", "last")
class Last(nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, x: Seq) -> Vec:
        values = x.filled()
        return Vec(last_state(values, x, values.new_zeros(x.batch, x.dim)))
