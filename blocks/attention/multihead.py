"""The multi-head layer of every self-attention: projections, positions, KV cache.

    Q, K, V = x W_q, x W_k, x W_v,  y = [head_1; ...; head_H] W_o

A subclass may override ``sees``, the keys visible to a query, with ``reach``, their number, and ``whole``, the
computation of whole sequences.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from composer import Invalid, Recipe, Seq, State, cached_for_generation, refuse_to_stream, show
from composer.core.capabilities import declared, offers
from composer.core.streaming.time_loop import open_ended

from .cache import append, arrival, empty, extend
from .diagonals import attend_with_diagonals, distances, spread
from .heads import head_width as divide
from .heads import join_heads, repeat_heads
from .mean import attend, never_empty, weights
from .scores import Dot, ScoreName, make_score

LONG = 1024  # from this length on, a T x T bias costs more than one more feature in queries and keys


class MultiHead(nn.Module):
    shows = "attention"

    def __init__(
        self,
        dim: int,
        causal: bool,
        *,
        heads: int,
        kv_heads: int | None = None,
        head_width: int | None = None,
        score: ScoreName = "dot",
        dropout: float,
        bias: bool,
        position: Recipe | None,
    ) -> None:
        super().__init__()
        self.causal = causal
        self.heads = heads
        self.kv_heads = kv_heads or heads
        if heads % self.kv_heads:
            raise Invalid("kv_heads", f"{kv_heads} heads of keys do not divide the {heads} heads of queries evenly.")
        self.width = head_width or divide(dim, heads)
        self.dropout = dropout
        self.project = nn.Linear(dim, (heads + 2 * self.kv_heads) * self.width, bias=bias)
        self.output = nn.Linear(heads * self.width, dim, bias=bias)
        self.score = make_score(score, heads, self.width)
        self.position: Any = self._inside(position, score)

    def start(self, batch: int) -> State:
        if not self.causal:
            refuse_to_stream(self)
        return empty(self.project.weight.new_empty(2, self.kv_heads, self.width), batch)

    def forward(self, x: Seq, state: State | None = None) -> tuple[Seq, State | None]:
        if state is None:
            q, k, v = self.split(x, torch.arange(x.time, device=x.values.device))
            return self.join(x, self.whole(x, q, k, v)), None
        if not self.causal:
            refuse_to_stream(self)
        first, now = state["steps"].shape[1] == 0, arrival(state, x)
        q, k, v = self.split(x, now)
        following, places = append(state, x, now, torch.stack([k, v], dim=2))
        if first:
            return self.join(x, self.whole(x, q, k, v)), following
        k, v = following["steps"].unbind(2)
        padded = following["position"].shape[1] > 0
        return self.join(x, self.cached(q, k, v, now, places, padded)), following

    def advance(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        batch, past, known = x.shape[0], state["steps"].shape[1], state["position"]
        padded = known.shape[1] > 0
        if padded:  # each row has its own number of steps read
            known = torch.cat([known, known.amax(1, keepdim=True) + 1], dim=1)
        values = self.project(x).view(batch, 1, -1, self.width)  # (B, 1, H + 2 G, K)
        if self.turns_steps:
            now = known[:, -1:] if padded else torch.full((1, 1), past, device=x.device)
            turned, v = values.split([self.heads + self.kv_heads, self.kv_heads], dim=2)
            values = torch.cat([self.position.rotate(turned, now[..., None]), v], dim=2)
        steps = extend(state["steps"], values[:, :, self.heads :].view(batch, 1, 2, -1, self.width))
        q, (k, v) = values[:, :, : self.heads], steps.unbind(2)
        if self.sees_all and not padded:
            found = self.mean(q, k, v, None, None)
        else:
            places = known if padded else torch.arange(past + 1, device=x.device)[None]
            found = self.cached(q, k, v, places[:, -1:], places, padded)
        return self.output(found.flatten(1)), {"steps": steps, "position": known}

    def split(self, x: Seq, now: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, T, H, K), keys and values (B, T, G, K) of steps at the positions ``now``, (T,) or (B, T)."""
        values = self.project(x.filled()).unflatten(-1, (-1, self.width))  # (B, T, H + 2 G, K)
        turned, v = values.split([self.heads + self.kv_heads, self.kv_heads], dim=2)
        if self.turns_steps:
            turned = self.position.rotate(turned, now[..., None])
        q, k = turned.split([self.heads, self.kv_heads], dim=2)
        return q, k, v

    def join(self, x: Seq, heads: Tensor) -> Seq:
        return x.like(self.output(join_heads(heads)))

    def whole(self, x: Seq, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """(B, H, T, K): attention over a whole sequence in parallel."""
        steps = torch.arange(x.time, device=x.values.device)
        mask = self.sees(steps[:, None], steps)
        causal = self.causal and mask is None
        if mask is not None and self.causal:
            mask = mask & (steps[:, None] >= steps)
        if not self.causal and x.mask is not None:  # if causal, padding is later than real steps: no mask
            real = x.mask[:, None, None]  # (B, 1, 1, T)
            mask = never_empty(real if mask is None else mask & real)
        if causal and self._tilts(q):
            q, k, v = self.position.tilt(q, k, v, self.score.scale)
            return self.mean(q, k, v, None, None, causal)[..., : self.width]
        if mask is None and offers(self.position, "bias") and not open_ended(x.time):  # diagonals need a known length
            return self._with_diagonals(q, k, v, causal)
        return self.mean(q, k, v, mask, self.bias(steps, steps, q.dtype), causal)

    def cached(self, q: Tensor, k: Tensor, v: Tensor, now: Tensor, places: Tensor, padded: bool) -> Tensor:
        """(B, H, T, K): new steps at ``now`` (1 or B, T) attend to the cache's steps, at ``places`` (1 or B, S)."""
        queries, keys = now[:, None, :, None], places[:, None, None]  # (B, 1, T, 1), (B, 1, 1, S)
        mask = self.sees(queries, keys)
        if padded or now.shape[1] > 1:  # a single step attends to its whole past
            past = (keys >= 0) & (keys <= queries)
            mask = never_empty(past if mask is None else mask & past)
        return self.mean(q, k, v, mask, self.bias(now, places, q.dtype))

    def flops(self, time: int) -> int:
        """Projections, and for every query the scores and the weighted sum of the keys in its reach."""
        matrices = [self.project.weight, self.output.weight]
        matrices += [weight for name, weight in self.score.named_parameters() if name == "weight"]
        return 2 * time * (sum(map(torch.numel, matrices)) + 2 * self.reach(time) * self.heads * self.width)

    def reach(self, time: int) -> int:
        """The most keys that a query may attend to in a sequence of so many steps, a causal mask aside."""
        return time

    @cached_for_generation
    def turns_steps(self) -> bool:
        """Whether the position rotates queries and keys."""
        return offers(self.position, "rotate")

    @cached_for_generation
    def sees_all(self) -> bool:
        """Whether a query attends to its whole past without a bias, so that a decoding step needs no positions."""
        return type(self).sees is MultiHead.sees and not offers(self.position, "bias")

    def sees(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        """Which keys are visible to a query by their positions, apart from causality; None: all."""
        return None

    def bias(self, queries: Tensor, keys: Tensor, dtype: torch.dtype) -> Tensor | None:
        """The position's bias, (H, T, S) or (B, H, T, S), for queries at (T,) or (B, T) and keys at (S,) or (B, S)."""
        if not offers(self.position, "bias"):
            return None
        return self.position.bias(queries[..., :, None] - keys[..., None, :], dtype)

    def mean(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, bias: Tensor | None, causal: bool = False
    ) -> Tensor:
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)  # (B, H, T, K), (B, G, S, K)
        if bias is not None and bias.dim() == 3:
            bias = bias[None]  # with a bias of three dimensions, torch uses a slower kernel
        show(self, lambda: weights(self.score, q, k, mask, bias, causal))
        dropout = self.dropout if self.training else 0.0
        return attend(self.score, q, k, v, mask=mask, bias=bias, causal=causal, dropout=dropout)

    def _with_diagonals(self, q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
        """Attention of every query to every key with the position's bias by distance: one number for each diagonal."""
        row = self.position.bias(distances(q.shape[1], q.device)[None], q.dtype)[:, 0]  # (H, 2 T - 1)
        score, learns = self.score, row.requires_grad and torch.is_grad_enabled()
        if not learns or not isinstance(score, Dot) or (self.training and self.dropout):
            return self.mean(q, k, v, None, spread(row), causal)
        q, k, v = score.queries(q.transpose(1, 2)), *(repeat_heads(p.transpose(1, 2), self.heads) for p in (k, v))
        plain = Dot(score.scale)  # ``score.queries`` has already transformed the queries
        show(self, lambda: weights(plain, q, k, bias=spread(row)[None], causal=causal))
        return attend_with_diagonals(q, k, v, row, score.scale, causal)

    def _tilts(self, q: Tensor) -> bool:
        """Whether to put a linear bias into queries and keys: for long sequences, if the dtype is precise enough."""
        if open_ended(q.shape[1]):
            return False
        precise = q.dtype in (torch.float32, torch.float64)
        return offers(self.position, "tilt") and isinstance(self.score, Dot) and precise and q.shape[1] >= LONG

    def _inside(self, position: Recipe | None, score: ScoreName) -> nn.Module | None:
        if position is None:
            return None
        enters = declared(position.block, "enters")
        if enters == "input":
            raise Invalid("position", f"'{position.name}' does not act inside attention. Give it to the stack instead.")
        if enters == "both" and offers(position.block, "rotate") and (score != "dot" or self.width % 2):
            return None  # the sinusoidal waves that the stack adds still encode positions
        if offers(position.block, "rotate") and score != "dot":
            raise Invalid(
                "position", f"'{position.name}' turns queries and keys for a dot product, and the score is {score}."
            )
        return position.build(dim=self.width, heads=self.heads, causal=self.causal)
