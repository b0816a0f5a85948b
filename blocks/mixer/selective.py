"""A selective state space model (Mamba): the input decides what the state keeps and for how long.

    u = silu(conv(W_u x)),  s_t = softplus(W_s (W_r u_t) + b_s),  B_t, C_t = W_B u_t, W_C u_t
    h_t = exp(s_t A) * h_{t-1} + s_t u_t B_t^T,  y_t = W_o ((h_t C_t + D * u_t) * silu(W_z x_t))

Gu and Dao, 2023, "Mamba". A is initialised to -1..-N in every channel, s between 0.001 and 0.1. The state is h,
(B, N, H), for H = expansion * D, and the convolution's last K - 1 inputs, (B, H) each.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer import Positive, Recurrence, Scale, Seq, State, cached_for_generation, register, show_terms
from composer.core.streaming.recurrence import full_precision
from composer.core.streaming.streaming_copy import by_columns

from ..linear import unit_linear
from ..recurrence import ShortConvolution
from ..scan import selective, selective_step

STEPS = (0.001, 0.1)  # the paper's initial step sizes, drawn uniformly in their logarithm


@register("mixer", "selective")
class Selective(Recurrence):
    causal = True
    ordered = True
    no_decay = ("decay", "skip", "step.bias")

    def __init__(
        self, dim: int, *, expansion: Scale = 2, states: Positive = 16, kernel: Positive = 4, bias: bool = False
    ) -> None:
        super().__init__()
        hidden = max(1, round(dim * expansion))
        rank = math.ceil(dim / 16)
        self.sizes = [rank, states, states]
        self.rise = unit_linear(dim, 2 * hidden, bias=bias)
        self.convolution = ShortConvolution(hidden, kernel)
        self.select = unit_linear(hidden, sum(self.sizes), bias=False)
        self.step = nn.Linear(rank, hidden)
        self.decay = nn.Parameter(torch.arange(1.0, states + 1).log().repeat(hidden, 1))  # (H, N), log(-A)
        self.skip = nn.Parameter(torch.ones(hidden))
        self.fall = nn.Linear(hidden, dim, bias=bias)
        low, high = map(math.log, STEPS)
        first = torch.empty(hidden).uniform_(low, high).exp()
        with torch.no_grad():
            self.step.bias.copy_(first + torch.log(-torch.expm1(-first)))  # the inverse of softplus

    def start(self, batch: int) -> State:
        hidden, states = self.decay.shape
        return {"h": self.decay.new_zeros(batch, states, hidden), "inputs": self.convolution.start(batch)}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        rise, select, fall = self._by_columns
        u, beside = F.linear(x, rise, self.rise.bias).chunk(2, dim=-1)  # (B, H)
        u, inputs = self.convolution.advance(u, state["inputs"])
        u = F.silu(u, inplace=True)
        rough, b, c = F.linear(u, select).split_with_sizes(self.sizes, dim=-1)  # (B, R), (B, N), (B, N)
        h, y = selective_step(state["h"], self._rates, F.softplus(self.step(rough)), u, b, c)
        y = F.linear(y.addcmul_(self.skip, u).mul_(F.silu(beside)), fall, self.fall.bias)
        return y, {"h": h, "inputs": inputs}

    @cached_for_generation
    def _by_columns(self) -> list[Tensor]:
        """The matrices of a single step."""
        return [by_columns(layer.weight) for layer in (self.rise, self.select, self.fall)]

    @cached_for_generation
    def _rates(self) -> Tensor:
        """(N, H): A, the decay rates."""
        return -self.decay.t().contiguous().exp()

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        before = state or self.start(x.batch)
        u, beside = self.rise(x.filled()).chunk(2, dim=-1)  # (B, T, H)
        u, inputs = self.convolution(x.like(u), before["inputs"])
        u = F.silu(u)
        rough, b, c = self.select(u).split(self.sizes, dim=-1)  # (B, T, R), (B, T, N), (B, T, N)
        rough = self.step(rough)
        with full_precision(u):
            step = F.softplus(rough.to(u.dtype))
            if x.mask is not None:
                step = step.masked_fill(~x.mask[..., None], 0)  # a step size of 0 leaves the state unchanged at padding
            y, h = selective(step, u, -self.decay.exp(), b.to(u.dtype), c.to(u.dtype), before["h"].transpose(1, 2))
        slow = "steps of 0.001 to 0.1, as in the paper, let little of each input into the state at first"
        show_terms(self, lambda: {"state": x.like(y), "skip": x.like(self.skip * u)}, state=slow)
        y = self.fall((y + self.skip * u) * F.silu(beside))
        return x.like(y), None if state is None else {"h": h.transpose(1, 2), "inputs": inputs}
