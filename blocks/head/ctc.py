"""Connectionist temporal classification: tokens from a longer sequence of steps, without a given alignment.

    p(y | h) = sum over all paths p that collapse to y of prod_t softmax(W h_t + b)_{p_t},  loss = -log p(y | h)

A path has a token or a blank at every step. It collapses by merging repeated tokens, then removing blanks. The blank's
id is the one after the vocabulary's last token. Graves et al., 2006. No state.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer import Ids, Pointwise, Seq, register


@register("head", "ctc")
class CTC(Pointwise):
    aligned = False

    def __init__(
        self, dim: int, target_vocabulary: int, *, bias: bool = True, impossible: Literal["skip", "keep"] = "skip"
    ) -> None:
        super().__init__()
        self.blank = target_vocabulary
        self.skip = impossible == "skip"
        self.project = nn.Linear(dim, target_vocabulary + 1, bias=bias)

    def map(self, values: Tensor) -> Tensor:
        return self.project(values)  # (..., V + 1), logits

    def loss(self, output: Seq, target: Ids) -> Tensor:
        """(B,), in nats. The loss of a target that needs more steps than there are is 0 (skip) or infinity (keep)."""
        wide = output.values.dtype if output.values.dtype == torch.float64 else torch.float32
        steps = F.log_softmax(output.filled().to(wide), dim=-1).transpose(0, 1)  # (T, B, V + 1)
        return F.ctc_loss(
            steps, target.filled(0), output.counts, target.counts, self.blank, reduction="none", zero_infinity=self.skip
        )

    def predict(self, output: Seq) -> Ids:
        """The tokens of the most likely path of every row (greedy decoding), with repeats merged and blanks removed."""
        path = output.filled().argmax(-1)  # (B, T)
        changes = torch.cat([torch.ones_like(path[:, :1], dtype=torch.bool), path[:, 1:] != path[:, :-1]], dim=1)
        kept = changes & (path != self.blank)
        if output.mask is not None:
            kept = kept & output.mask
        order = kept.logical_not().argsort(dim=1, stable=True)  # kept tokens first, in their order
        return Ids(path.gather(1, order), kept.sum(1))
