"""The sum of signals of one shape: a skip connection.

    y = x_1 + x_2 + ...

No state.
"""

from __future__ import annotations

from torch import nn

from composer import Invalid, Seq, Vec, register, show_terms


@register("merge", "add")
class Add(nn.Module):
    def __init__(self) -> None:
        super().__init__()

    def forward(self, *inputs: Seq | Vec) -> Seq | Vec:
        first = inputs[0]
        if any(type(x) is not type(first) or x.values.shape != first.values.shape for x in inputs):
            shapes = ", ".join(f"{x.kind} {tuple(x.values.shape)}" for x in inputs)
            raise Invalid("from", f"only signals of one shape and one time axis can be added, found {shapes}.")
        show_terms(self, lambda: {f"input {number}": x for number, x in enumerate(inputs, start=1)})
        values = first.values
        for x in inputs[1:]:
            values = values + x.values
        return first.like(values)
