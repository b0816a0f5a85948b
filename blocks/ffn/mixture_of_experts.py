"""Several feed-forward networks, of which every step uses the few that suit it.

    y_t = sum_{e in top(r_t)} softmax(r_t,e over the chosen) ffn_e(x_t),  r_t = W_r x_t

Every step gets the experts it chose, however many chose the same: there is no capacity that one row could use up for
another (Shazeer et al., 2017). Training adds ``balance`` times a loss that evens out the load of the experts,

    loss = E sum_e f_e p_e,  p = mean over the steps of softmax(r_t)

for E experts, of which e gets the share f_e of all choices: 1 where all are chosen equally often, E where one gets all
(Fedus et al., 2022). It is taken over the steps of each sequence (DeepSeek-AI, 2024), so that no row depends on the
others, and a batch costs the same however it is spread over processes. No state.
"""

from __future__ import annotations

from typing import Annotated, Literal

import torch
from torch import Tensor, nn

from blocks.ffn.mlp import ACTIVATIONS
from composer import Invalid, Positive, Probability, Range, Scale, Seq, add_loss, register


@register("ffn", "mixture_of_experts")
class MixtureOfExperts(nn.Module):
    sparse = True  # a batch may leave an expert without a gradient

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
        """Every expert over the steps that chose it, weighed and summed."""
        if steps.is_meta:  # how many chose which is not known: as many rows in all, through one of them
            return self.experts[0](steps.repeat_interleave(self.active, 0)).unflatten(0, (-1, self.active)).sum(1)
        total = torch.zeros_like(steps, dtype=weights.dtype)
        for index, expert in enumerate(self.experts):
            rows, places = (chosen == index).nonzero(as_tuple=True)
            result = expert(steps[rows]).to(total.dtype) * weights[rows, places, None]
            total = total.index_add(0, rows, result)
        return total


def uneven_load(routes: Tensor, chosen: Tensor) -> Tensor:
    """(B,): E sum_e f_e p_e, of the scores of all experts, (B, T, E), and those chosen, (B, T, active), -1 for none."""
    experts = routes.shape[-1]
    real = (chosen >= 0).any(-1, keepdim=True)  # (B, T, 1)
    likely = (routes.float().softmax(-1) * real).sum(1) / real.sum(1).clamp(min=1)  # (B, E)
    counts = (chosen[..., None] == torch.arange(experts, device=chosen.device)).sum((1, 2))  # (B, E)
    return experts * (counts / counts.sum(1, keepdim=True).clamp(min=1) * likely).sum(1)
