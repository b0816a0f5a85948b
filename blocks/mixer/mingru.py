"""The minimal gated recurrent unit: no h_{t-1} in a gate, so that the whole sequence is one scan.

    z_t = sigmoid(W_z x_t + b_z),  n_t = W_h x_t + b_h,  h_t = (1 - z_t) * h_{t-1} + z_t * n_t

Feng et al., 2024, "Were RNNs all we needed?". Its state is h, (B, D).
"""

from __future__ import annotations

import torch
from torch import nn

from blocks.recurrence import last_state
from blocks.scan import scan
from composer.registry import register
from composer.signals import Seq, State, Vec


@register("mixer", "mingru")
class MinGRU(nn.Module):
    causal = True

    def __init__(self, dim: int, initial_dim: int | None, *, bias: bool = True) -> None:
        super().__init__()
        self.project = nn.Linear(dim, 2 * dim, bias=bias)

    def start(self, batch: int, initial: Vec | None = None) -> State:
        weight = self.project.weight
        return {"h": initial.values.to(weight.dtype) if initial else weight.new_zeros(batch, weight.shape[1])}

    def forward(self, x: Seq, state: State = None, initial: Vec | None = None) -> tuple[Seq, State]:
        before = (state or self.start(x.batch, initial))["h"]
        gate, candidate = self.project(x.filled()).to(before.dtype).chunk(2, dim=-1)  # (B, T, D) each
        z = torch.sigmoid(gate)
        outputs = scan(1 - z, z * candidate, before)
        return x.like(outputs), None if state is None else {"h": last_state(outputs, x, before)}
