"""A learned vector for every position, added to the sequence.

    y_i = x_i + sqrt(D) p_i

Gehring et al., 2017. The table p is drawn from N(0, 1/D), like token vectors, so that both terms have the same size at
initialisation. The table has ``limit`` rows: a longer sequence is an error. (Not on the meta device, where lengths are
examples and not those of the data.) The state is the number of steps read so far, (B,).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from composer import Positive, Seq, State, UserError, register, show_terms
from composer.core.streaming.time_loop import open_ended


@register("position", "learned")
class Learned(nn.Module):
    causal = True
    enters = "input"
    no_decay = ("table",)
    example = {"limit": 16}

    def __init__(self, dim: int, *, limit: Positive = 1024) -> None:
        super().__init__()
        self.limit = limit
        self.scale = dim**0.5
        self.table = nn.Parameter(torch.empty(limit, dim))
        nn.init.normal_(self.table, std=1 / self.scale)

    def start(self, batch: int) -> State:
        return {"position": torch.zeros(batch, dtype=torch.long)}

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        steps = torch.arange(x.time, device=x.values.device)  # (T,)
        if state is None:
            if open_ended(x.time) or x.time > self.limit:
                self._refuse_beyond(x.counts)
            return self._added(x, steps), None
        end = state["position"] + x.counts
        self._refuse_beyond(end)
        return self._added(x, state["position"][:, None] + steps), {"position": end}

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        end = state["position"] + 1
        self._refuse_beyond(end)
        return x + torch.embedding(self.table, state["position"]) * self.scale, {"position": end}

    def _added(self, x: Seq, positions: Tensor) -> Seq:
        vectors = self._vectors(positions)  # (T, D) or (B, T, D)
        show_terms(self, lambda: {"input": x, "positions": x.like(vectors.expand_as(x.values))})
        return x.like(x.values + vectors)

    def _vectors(self, positions: Tensor) -> Tensor:
        """(..., D). Positions beyond the limit are padding, and get the last vector."""
        return self.table[positions.clamp(max=self.limit - 1)] * self.scale

    def _refuse_beyond(self, ends: Tensor) -> None:
        if torch.compiler.is_compiling():  # the check becomes part of the compiled program
            torch._assert_async((ends <= self.limit).all(), f"a sequence has more than the {self.limit} positions")
        elif not ends.is_meta and bool((ends > self.limit).any()):
            raise UserError(
                f"A sequence of {int(ends.max())} steps is longer than the {self.limit} positions that 'learned' has. "
                "Raise its limit, shorten the sequences, or use a position without a limit, e.g. sinusoidal or rotary."
            )
