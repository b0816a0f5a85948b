"""Even pairs: whether a sequence of bits has an even number of unequal neighbours, 01 or 10 (Deletang et al., 2022).

The number is even if the last bit equals the first.
"""

from __future__ import annotations

from torch import Tensor

from composer.core.registry import register
from composer.data.synthetic.tracking import Tracking


@register("data", "even_pairs")
class EvenPairs(Tracking):
    symbols = ("0", "1")
    states = ("even", "odd")

    def track(self, values: Tensor) -> Tensor:
        return values ^ values[:, :1]
