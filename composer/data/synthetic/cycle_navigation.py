"""Cycle navigation: the position on a cycle after steps forwards, backwards and none (Deletang et al., 2022)."""

from __future__ import annotations

from torch import Tensor

from composer.core.block import Positive
from composer.core.registry import register
from composer.data.generated_source import numbered
from composer.data.synthetic.tracking import Tracking


@register("data", "cycle_navigation")
class CycleNavigation(Tracking):
    """source: steps -1, 0 or 1; target: the position, counted from 0, where the walk begins."""

    symbols = ("-1", "0", "1")

    cycle: Positive = 5

    def prepare(self) -> None:
        self.states = numbered(self.cycle)

    def track(self, values: Tensor) -> Tensor:
        return (values - 1).cumsum(1) % len(self.states)
