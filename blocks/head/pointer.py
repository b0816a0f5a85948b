"""Pointer-generator: a distribution over tokens that can also copy tokens from the source.

    p(y) = g softmax(W [h; c])_y + (1 - g) sum_{s : source_s = y} a_s,  loss = -log p(y)
    a = softmax((W_q h) . (W_k m_s) / sqrt(D)),  c = sum_s a_s m_s,  g = sigmoid(u . [h; c] + b)

for the memory m of the source ``ids``. Copying lets the model output rare names and numbers. Only source tokens that
are also in the target's vocabulary can be copied; the copy probabilities a_s are normalised over these tokens. The
output is log p, (B, T, V). See et al., 2017. The state is the memory, its keys, (B, S, D), the mask of its real steps,
(B, S), and the target id that each step copies, (B, S), -1 for none.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer import Ids, Invalid, Label, Seq, State, Vec, register, show

from ..attention import never_empty


@register("head", "pointer")
class Pointer(nn.Module):
    causal = True
    shows = "attention"
    copied: Tensor

    def __init__(
        self,
        dim: int,
        memory_dim: int,
        ids_vocabulary: int,
        ids_tokens: tuple[str, ...] | None,
        target_vocabulary: int,
        target_tokens: tuple[str, ...] | None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        copied = _same_tokens(ids_vocabulary, ids_tokens, target_vocabulary, target_tokens)
        self.register_buffer("copied", torch.tensor(copied))  # (V of the source,): a token's id in the target, or -1
        self.query = nn.Linear(dim, dim, bias=bias)
        self.key = nn.Linear(memory_dim, dim, bias=bias)
        self.gate = nn.Linear(dim + memory_dim, 1)
        self.project = nn.Linear(dim + memory_dim, target_vocabulary, bias=bias)

    def start(self, batch: int, memory: Seq | None, ids: Ids | None) -> State:
        assert memory is not None
        assert ids is not None, "the source is read when streaming starts, or at once"
        if memory.time != ids.time:
            raise Invalid("from", "the ids run along another sequence than the memory. Give the ones it was made of.")
        real = torch.ones_like(ids.values, dtype=torch.bool) if ids.mask is None else ids.mask  # (B, S)
        copies = self.copied[ids.filled(0)].masked_fill(~real, -1)
        return {"memory": memory.filled(), "key": self.key(memory.filled()), "real": real, "copies": copies}

    def forward(
        self, x: Seq, state: State | None = None, *, memory: Seq | None, ids: Ids | None
    ) -> tuple[Seq, State | None]:
        read = state or self.start(x.batch, memory, ids)
        h = x.filled()
        scores = self.query(h) @ read["key"].transpose(1, 2) / math.sqrt(x.dim)  # (B, T, S)
        weights = scores.masked_fill(~never_empty(read["real"])[:, None], -torch.inf).softmax(-1)
        show(self, lambda: weights[:, None])  # (B, 1, T, S)
        seen = torch.cat([h, weights.to(h.dtype) @ read["memory"].to(h.dtype)], dim=-1)  # (B, T, D + D of the memory)
        gate, written = self.gate(seen), F.log_softmax(self.project(seen), dim=-1)
        gate, written = gate.to(weights.dtype), written.to(weights.dtype)
        able = read["copies"] >= 0  # (B, S)
        write = torch.where(able.any(1)[:, None, None], F.logsigmoid(gate), 0.0)  # nothing to copy: g = 1
        copied = self._copied(scores, able, read["copies"], written)
        there = copied > 0
        copy = torch.where(there, F.logsigmoid(-gate) + torch.where(there, copied, 1.0).log(), -torch.inf)
        return x.like(torch.logaddexp(write + written, copy)), state

    def _copied(self, scores: Tensor, able: Tensor, copies: Tensor, written: Tensor) -> Tensor:
        """(B, T, V): the share of each token in the attention to all source steps that can be copied."""
        weights = scores.masked_fill(~never_empty(able)[:, None], -torch.inf).softmax(-1) * able[:, None]
        index = copies.clamp(min=0)[:, None].expand_as(weights)
        return torch.zeros_like(written).scatter_add(2, index, weights.to(written.dtype))

    def predict(self, output: Seq | Vec) -> Ids | Label:
        """The most likely token of every step; of a single step, one per row."""
        best = output.values.argmax(-1)
        return Ids(best, output.lengths) if isinstance(output, Seq) else Label(best)

    def log_probabilities(self, values: Tensor) -> Tensor:
        """(..., V): an output's values, which already are log-probabilities."""
        return values

    def loss(self, output: Seq, target: Ids) -> Tensor:
        """(B, T), in nats."""
        chosen = Seq(output.values, target.lengths).filled().gather(-1, target.filled(0)[..., None]).squeeze(-1)
        return -chosen if target.mask is None else -chosen.masked_fill(~target.mask, 0.0)


def _same_tokens(
    source: int, source_tokens: tuple[str, ...] | None, target: int, target_tokens: tuple[str, ...] | None
) -> list[int]:
    """For every token of the source's vocabulary, its id in the target's vocabulary, or -1."""
    if source_tokens is None or target_tokens is None:
        if source != target:
            raise Invalid(
                "from",
                f"the ids have a vocabulary of {source} and the target one of {target}, and the data does not name "
                "their tokens, so nothing says which are the same. Let them share one vocabulary, or use categorical.",
            )
        return list(range(source))
    places = {token: place for place, token in enumerate(target_tokens)}
    copied = [places.get(token, -1) for token in source_tokens]
    if max(copied) < 0:
        raise Invalid(
            "from", "no token of the ids is in the target's vocabulary, so none can be copied. Use categorical."
        )
    return copied
