"""Sequences concatenated over time: their lengths add up. It joins the outputs of two encoders into one memory.

    y = x_1,1 .. x_1,T1, x_2,1 .. x_2,T2, ...

Each row is packed so that padding stays on the right. A step of a later sequence comes after the whole of an earlier
sequence, so this block is not causal. No state.
"""

from __future__ import annotations

from torch import nn

from composer import Invalid, Seq, register


@register("merge", "append")
class Append(nn.Module):
    causal = False

    def __init__(self) -> None:
        super().__init__()

    def forward(self, *inputs: Seq) -> Seq:
        if any(x.dim != inputs[0].dim for x in inputs):
            widths = ", ".join(str(x.dim) for x in inputs)
            raise Invalid("from", f"sequences of one width can follow each other, found widths {widths}.")
        return inputs[0].followed_by(*inputs[1:])
