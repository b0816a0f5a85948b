"""Bounds of real-valued predictions, calibrated on held-out errors (split conformal prediction; Lei et al., 2018).

The errors of every step and channel, in units of the head's deviation where the head gives one, are divided by their
root mean square over held-out examples, and the quantiles of all these ratios are kept. Bounds of confidence p are the
prediction plus and minus the quantile p times the root mean square, in the same units. They hold the share p of the
held-out values, whatever the distribution of the errors, and of new values as far as these are like them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

#: The confidence of bounds where nobody asks for another one.
CONFIDENCE = 0.95

#: Quantiles are kept at the levels 0, 1/LEVELS, 2/LEVELS, ..., 1.
LEVELS = 200

#: The smallest root mean square of errors, for predictions that are all exact.
SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class Bounds:
    """
    scale: (T, D), the root mean square of the errors of every step and channel; T is 1 where all steps are alike
    quantiles: (LEVELS + 1,), of the absolute errors divided by their scale
    """

    scale: Tensor
    quantiles: Tensor

    @classmethod
    def of(cls, errors: Sequence[Tensor]) -> Bounds | None:
        """Bounds from the errors of examples, (B, T, D) each, NaN where nothing was predicted; None without any."""
        every = torch.cat([part.double() for part in errors]) if errors else torch.empty(0, 1, 1)
        if every.isnan().all():
            return None
        scale = every.square().nanmean(0).sqrt().clamp(min=SMALLEST)  # (T, D)
        ratios = (every.abs() / scale).flatten()
        ratios = ratios[~ratios.isnan()].sort().values
        # One more than there are: a new error is as likely to lie in each of the gaps between the sorted ones.
        ranks = torch.linspace(0, 1, LEVELS + 1, dtype=torch.float64) * (len(ratios) + 1)
        return cls(scale.float(), ratios[ranks.ceil().long().clamp(1, len(ratios)) - 1].float())

    def half_width(self, confidence: float, steps: int) -> Tensor:
        """(steps, D): the distance of the bounds from the prediction; NaN for steps that no example had."""
        place = confidence * LEVELS
        low = int(place)
        factor = self.quantiles[low].lerp(self.quantiles[min(low + 1, LEVELS)], place - low)
        scale = self.scale.expand(steps, -1) if len(self.scale) == 1 else self.scale[:steps]
        beyond = scale.new_full((steps - len(scale), scale.shape[1]), torch.nan)
        return factor * torch.cat([scale, beyond])
