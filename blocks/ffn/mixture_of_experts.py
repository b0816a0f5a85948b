"""Several feed-forward networks, of which every step uses the few that suit it.

    y_t = sum_{e in top(r_t)} softmax(r_t,e over the chosen) ffn_e(x_t),  r_t = W_r x_t

Every step gets the experts it chose, however many chose the same: there is no capacity that one row could use up for
another, and no loss that evens out their load. Shazeer et al., 2017. No state.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from blocks.ffn.mlp import ACTIVATIONS
from composer import Invalid, Positive, Probability, Scale, Seq, register


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
    ) -> None:
        super().__init__()
        if active > experts:
            raise Invalid("active", f"{active} experts cannot be active of {experts}. Use at most {experts}.")
        self.active = active
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
        return self._mix(values.flatten(0, -2), None).view_as(values)

    def forward(self, x: Seq) -> Seq:
        real = None if x.mask is None else x.mask.flatten()
        return x.like(self._mix(x.filled().flatten(0, 1), real).view_as(x.values))

    def _mix(self, steps: Tensor, real: Tensor | None) -> Tensor:
        """(N, D), the weighted sum of each step's experts, for steps (N, D) of which some are real, (N,)."""
        scores, chosen = self.route(steps).topk(self.active, dim=-1)  # (N, active)
        if real is not None:
            chosen = chosen.masked_fill(~real[:, None], -1)  # padding uses no expert
        return self._consult(steps, chosen, scores.softmax(-1))

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
