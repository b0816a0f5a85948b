"""Griffin's recurrent block: a real-gated linear recurrent unit after a short convolution, times a gated branch.

    u = conv(W_u x),  r_t = sigmoid(W_r u_t + b_r),  i_t = sigmoid(W_i u_t + b_i),  a_t = sigmoid(L)^(c r_t)
    h_t = a_t * h_{t-1} + sqrt(1 - a_t^2) * (i_t * u_t),  y_t = W_o (gelu(W_g x_t) * h_t)

De et al., 2024, "Griffin". c = 8; sigmoid(L)^c is between 0.9 and 0.999 at initialisation. The state is the hidden
state h, (B, H), for H = expansion * D, and the convolution's last K - 1 inputs, (B, H) each.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer import Positive, Recurrence, Scale, Seq, State, Vec, cached_for_generation, register
from composer.core.streaming.recurrence import full_precision
from composer.core.streaming.streaming_copy import by_columns

from ..gelu import SCALE, scaled_gelu
from ..recurrence import FirstState, ShortConvolution, last_state
from ..scan import scan

SHARPNESS = 8  # the paper's c


@register("mixer", "rg_lru")
class RGLRU(Recurrence):
    causal = True
    ordered = True
    no_decay = ("decay",)

    def __init__(
        self, dim: int, initial_dim: int | None, *, expansion: Scale = 1, kernel: Positive = 4, bias: bool = True
    ) -> None:
        super().__init__()
        hidden = max(1, round(dim * expansion))
        self.first = FirstState(hidden, initial_dim)
        self.rise = nn.Linear(dim, 2 * hidden, bias=bias)
        self.convolution = ShortConvolution(hidden, kernel)
        self.gates = nn.Linear(hidden, 2 * hidden, bias=bias)
        self.decay = nn.Parameter(torch.empty(hidden).uniform_(0.9, 0.999).pow(1 / SHARPNESS).logit())
        self.output = nn.Linear(hidden, dim, bias=bias)

    def start(self, batch: int, initial: Vec | None = None) -> State:
        h = self.first(batch, initial, like=self.decay)
        return {"h": h, "inputs": self.convolution.start(batch)}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        rise, rise_bias, output = self._scaled
        beside, u = F.linear(x, rise, rise_bias).chunk(2, dim=-1)  # (B, H)
        u, inputs = self.convolution.advance(u, state["inputs"])
        recurrence, entry = self.gates(u).sigmoid_().chunk(2, dim=-1)
        log_decay = recurrence * self._slowest
        kept = torch.exp(log_decay)
        share = log_decay.add_(log_decay).expm1_().neg_()  # 1 - a^2 without cancellation
        h = share.sqrt_().mul_(entry).mul_(u).addcmul_(kept, state["h"])
        return F.linear(scaled_gelu(beside).mul_(h), output, self.output.bias), {"h": h, "inputs": inputs}

    @cached_for_generation
    def _scaled(self) -> tuple[Tensor, Tensor | None, Tensor]:
        """W_g and W_u, their bias, and W_o, with the factors of ``scaled_gelu`` in the weights before and after it."""
        scales = torch.stack([torch.full_like(self.decay, SCALE), torch.ones_like(self.decay)]).flatten()
        bias = None if self.rise.bias is None else scales * self.rise.bias
        return by_columns(scales[:, None] * self.rise.weight), bias, by_columns(SCALE * self.output.weight)

    def forward(self, x: Seq, state: State | None = None, initial: Vec | None = None) -> tuple[Seq, State | None]:
        before = state or self.start(x.batch, initial)
        beside, u = self.rise(x.filled()).chunk(2, dim=-1)  # (B, T, H)
        u, inputs = self.convolution(x.like(u), before["inputs"])
        gates = self.gates(u)
        with full_precision(u):
            kept, entering = self._weigh(u, gates.to(u.dtype))
            h = scan(kept, entering, before["h"])
        y = x.like(self.output(F.gelu(beside) * h))
        return y, None if state is None else {"h": last_state(h, x, before["h"]), "inputs": inputs}

    def _weigh(self, u: Tensor, gates: Tensor) -> tuple[Tensor, Tensor]:
        """(..., H) each: the decay of the state, a_t, and the input of the state, sqrt(1 - a_t^2) * (i_t * u_t)."""
        recurrence, entry = torch.sigmoid(gates).chunk(2, dim=-1)
        log_decay = recurrence * self._slowest
        share = -torch.expm1(2 * log_decay)  # 1 - a^2 without cancellation
        size = torch.sqrt(share.clamp(min=torch.finfo(u.dtype).tiny))  # the root has an infinite gradient at 0
        return torch.exp(log_decay), size * (entry * u)

    @cached_for_generation
    def _slowest(self) -> Tensor:
        """(H,): log a_t for r_t = 1."""
        return SHARPNESS * F.logsigmoid(self.decay)
