"""Multi-head self-attention.

    head_h = softmax(score(Q_h, K_h) + M) V_h,  Q, K, V = x W_q, x W_k, x W_v,  y = [head_1; ...; head_H] W_o

with the scaled dot product Q_h K_h^T / sqrt(K) as the score, or another score. The mask M is -inf at padding, at later
steps if attention is causal, and with a ``window`` at steps that are at least that far away. Vaswani et al., 2017;
fewer heads of keys and values than of queries (grouped-query attention): Ainslie et al., 2023. The state is the KV
cache: the keys and values read so far, (B, S, 2, G, K), and the position of each in its row, (B, S).
"""

from __future__ import annotations

from torch import Tensor

from composer import Positive, Probability, Recipe, cached_for_generation, register
from composer.core.capabilities import offers

from ..attention.multihead import MultiHead
from ..attention.scores import ScoreName
from ..window import window_reach


@register("mixer", "attention")
class Attention(MultiHead):
    def __init__(
        self,
        dim: int,
        causal: bool,
        *,
        heads: Positive = 4,
        kv_heads: Positive | None = None,
        head_width: Positive | None = None,
        score: ScoreName = "dot",
        window: Positive | None = None,
        dropout: Probability = 0.0,
        bias: bool = True,
        position: Recipe | None = None,
    ) -> None:
        super().__init__(
            dim,
            causal,
            heads=heads,
            kv_heads=kv_heads,
            head_width=head_width,
            score=score,
            dropout=dropout,
            bias=bias,
            position=position,
        )
        self.window = window

    def sees(self, queries: Tensor, keys: Tensor) -> Tensor | None:
        return None if self.window is None else (queries - keys).abs() < self.window

    def reach(self, time: int) -> int:
        return time if self.window is None else window_reach(self.window, self.causal, time)

    @cached_for_generation
    def sees_all(self) -> bool:
        return self.window is None and not offers(self.position, "bias")
