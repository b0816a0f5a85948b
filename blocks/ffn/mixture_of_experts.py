"""Several feed-forward networks (experts), of which a router chooses a few for every step.

    y_t = sum_{e in top(r_t)} softmax(r_t,e over the chosen) ffn_e(x_t),  r_t = W_r x_t

Every step gets its top ``active`` experts, however many steps share them: experts have no limited capacity, which one
row could use up for another (Shazeer et al., 2017). Training adds ``balance`` times a load balancing loss,

    loss = E sum_e f_e p_e,  p = mean over the steps of softmax(r_t)

for E experts, where f_e is the share of expert e in all choices: the loss is 1 if all experts are chosen equally often
and E if one is always chosen (Fedus et al., 2022). It is computed over the steps of each sequence (DeepSeek-AI, 2024),
so that rows are independent, and the loss of a batch does not depend on its split into micro-batches or over processes.
No state.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from composer import Invalid, Positive, Probability, Range, Scale, Seq, add_loss, register

from .mlp import ACTIVATIONS


@register("ffn", "mixture_of_experts")
class MixtureOfExperts(nn.Module):
    sparse = True  # an expert that no step of a batch chose gets no gradient

    def __init__(
        self,
        dim: int,
        *,
        experts: Positive = 4,
        active: Positive = 2,
        expansion: Scale = 4,
        activation: Literal["relu", "gelu", "silu"] = "gelu",
        dropout: Probability = 0.0,
        bias: bool = True,
        balance: Annotated[float, Range(low=0)] = 0.01,
    ) -> None:
        super().__init__()
        if active > experts:
            raise Invalid("active", f"{active} experts cannot be active of {experts}. Use at most {experts}.")
        self.active, self.balance = active, balance
        hidden = max(1, round(dim * expansion))
        self.route = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(
                nn.Linear(dim, hidden, bias=bias),
                ACTIVATIONS[activation](),
                nn.Dropout(dropout),
                nn.Linear(hidden, dim, bias=bias),
            )
            for _ in range(experts)
        )

    def map(self, values: Tensor) -> Tensor:
        steps = values.flatten(0, -2)  # (N, D)
        scores, chosen = self.route(steps).topk(self.active, dim=-1)  # (N, active)
        return self._consult(steps, chosen, scores.softmax(-1)).view_as(values)

    def forward(self, x: Seq) -> Seq:
        steps = x.filled()
        routes = self.route(steps)  # (B, T, E)
        scores, chosen = routes.topk(self.active, dim=-1)  # (B, T, active)
        if x.mask is not None:
            chosen = chosen.masked_fill(~x.mask[..., None], -1)  # padding uses no expert
        if self.training and self.balance:
            add_loss(self, "balance", uneven_load(routes, chosen), weight=self.balance)
        flat = (part.flatten(0, 1) for part in (steps, chosen, scores.softmax(-1)))
        return x.like(self._consult(*flat).view_as(x.values))

    def _consult(self, steps: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
        """The weighted sum of the chosen experts' outputs: each expert runs on the steps that chose it."""
        if steps.is_meta:  # choices are unknown on meta: run as many rows through one expert
            return self.experts[0](steps.repeat_interleave(self.active, 0)).unflatten(0, (-1, self.active)).sum(1)
        total = torch.zeros_like(steps, dtype=weights.dtype)
        for index, expert in enumerate(self.experts):
            rows, places = (chosen == index).nonzero(as_tuple=True)
            result = expert(steps[rows]).to(total.dtype) * weights[rows, places, None]
            total = total.index_add(0, rows, result)
        return total


def uneven_load(routes: Tensor, chosen: Tensor) -> Tensor:
    """(B,): E sum_e f_e p_e, from router scores, (B, T, E), and chosen experts, (B, T, active), -1 in padding."""
    experts = routes.shape[-1]
    real = (chosen >= 0).any(-1, keepdim=True)  # (B, T, 1)
    likely = (routes.float().softmax(-1) * real).sum(1) / real.sum(1).clamp(min=1)  # (B, E)
    counts = (chosen[..., None] == torch.arange(experts, device=chosen.device)).sum((1, 2))  # (B, E)
    return experts * (counts / counts.sum(1, keepdim=True).clamp(min=1) * likely).sum(1)
