"""A vector sets the initial hidden state of every recurrent layer.

    h_0 = tanh(W v + b)

p(h_1 | x) in Vec2Seq models; in Seq2Seq models without attention, the encoder's context (Cho et al., 2014). No state.
"""

from __future__ import annotations

import torch
from torch import nn

from composer import Vec, register


@register("bridge", "initial_state")
class InitialState(nn.Module):
    enters = "initial"

    def __init__(self, vector_dim: int, dim: int) -> None:
        super().__init__()
        self.project = nn.Linear(vector_dim, dim)

    def forward(self, vector: Vec) -> Vec:
        return Vec(torch.tanh(self.project(vector.values)))  # (B, D)
