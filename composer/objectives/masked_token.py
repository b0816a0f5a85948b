"""Masked language modelling: some tokens are masked, and the model predicts them from the text on both sides.

    BERT (Devlin et al., 2019): of the chosen tokens, most become [MASK], some become a random token, and the rest stay
    unchanged, so that a model cannot rely on [MASK] to find the tokens that it has to predict.

Fields: ``source``, the corrupted text, and ``target``, the original along the same steps. Only chosen steps count in
the loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import torch
from torch import Tensor

from composer.core.block import Range
from composer.core.problems import Invalid, UserError
from composer.core.registry import register
from composer.core.signals import Field, Ids, Signal
from composer.data.counter_random import below
from composer.data.source import Source
from composer.objectives.corruption import MASK, Corruption, chosen, rounded
from composer.objectives.text_objective import Draw

#: A share from 0 to 1, both included.
Part = Annotated[float, Range(low=0, high=1)]


@register("objective", "masked_token")
class MaskedToken(Corruption):
    def __init__(
        self,
        source: Source,
        *,
        field: str | None = None,
        share: Annotated[float, Range(above=0, high=1)] = 0.15,
        masked: Part = 0.8,
        random: Part = 0.1,
        seed: int = 0,
    ) -> None:
        super().__init__(source, field, seed)
        if masked + random > 1 + 1e-9:
            raise Invalid("random", f"{random:g} and masked, {masked:g}, are more than the whole: at most 1 together.")
        self.share, self.masked, self.random = share, masked, random

    @property
    def fields(self) -> dict[str, Field]:
        target = replace(self.masked_field, axis="source", start=None, stop=None)
        return {"source": self.masked_field, "target": target}

    def asked(self, signals: Mapping[str, Signal]) -> dict[str, Tensor]:
        source = signals["source"]
        assert isinstance(source, Ids)
        hidden = source.filled(self.mask + 1) == self.mask  # (B, T)
        for row, text in enumerate(self.show("source", source)):
            if not hidden[row].any():
                raise UserError(f"'{text}' has no {MASK}, so there is nothing to predict. Write one where a token is.")
        return {"target": hidden.float()}

    def corrupted(self, original: Ids, draw: Draw) -> tuple[Ids, dict[str, Tensor]]:
        values, T = original.filled(0), original.time
        able = self.plain[values] & (torch.arange(T) < original.counts[:, None])  # (B, T)
        wanted = rounded(self.share * able.sum(1), draw("count", 1)).clamp(min=1)
        hidden = chosen(draw("place", T), able, wanted)
        fate = draw("fate", T)
        drawn = (fate - self.masked) / max(self.random, 1e-9)  # uniform in [0, 1) for the tokens to be randomised
        others = self.plain_ids[below(drawn, len(self.plain_ids)).clamp(0, len(self.plain_ids) - 1)]
        corrupted = torch.where(hidden & (fate < self.masked + self.random), others, values)
        corrupted = corrupted.masked_fill(hidden & (fate < self.masked), self.mask)
        return replace(original, values=corrupted), {"target": hidden.float()}
