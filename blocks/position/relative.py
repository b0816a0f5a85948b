"""Positions as a learned bias on every score, by distance: far distances share buckets.

    score_ij <- score_ij + b_h(bucket(i - j))

Half of the buckets hold one distance each. The other half hold ranges that grow logarithmically up to ``distance``; all
larger distances share the last bucket. If attention is not causal, the past and the future have half of all buckets
each. Raffel et al., 2020 (T5). It works only inside attention, as a ``bias`` on the scores. No state.
"""

from __future__ import annotations

import math
from typing import Annotated

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from composer import Invalid, Positive, Range, register


@register("position", "relative")
class Relative(nn.Module):
    causal = True
    enters = "attention"
    no_decay = ("table",)

    def __init__(
        self, heads: int, causal: bool, *, buckets: Annotated[int, Range(low=4)] = 32, distance: Positive = 128
    ) -> None:
        super().__init__()
        self.both = not causal
        self.side = buckets // 2 if self.both else buckets  # buckets of the past
        if distance <= self.side // 2:
            raise Invalid(
                "distance",
                f"is {distance}, but {buckets} buckets hold {self.side // 2} distances alone. Make it larger.",
            )
        self.distance = distance
        self.table = nn.Parameter(torch.empty(2 * self.side if self.both else buckets, heads))
        nn.init.normal_(self.table, std=0.02)

    def bias(self, distances: Tensor, dtype: torch.dtype) -> Tensor:
        """(..., H, T, S) for distances i - j, (..., T, S)."""
        return F.embedding(self.bucket(distances), self.table).movedim(-1, -3).to(dtype)

    def bucket(self, distances: Tensor) -> Tensor:
        """The row of the table for each distance; keys later than their query use the second half, if not causal."""
        exact = self.side // 2
        away = distances.abs() if self.both else distances.clamp(min=0)
        growth = (away.clamp(min=1).double() / exact).log() / math.log(self.distance / exact)
        far = (exact + (growth * (self.side - exact)).long()).clamp(max=self.side - 1)
        bucket = torch.where(away < exact, away, far)
        return bucket + self.side * (distances < 0) if self.both else bucket
