"""Cycle navigation: the position on a cycle after steps forwards, backwards and none (Deletang et al., 2022)."""

from __future__ import annotations

from torch import Tensor

from composer.core.block import Positive
from composer.core.registry import register
from composer.data.generated_source import Span
from composer.data.synthetic.tracking import Aligned, Tracking


@register("data", "cycle_navigation")
class CycleNavigation(Tracking):
    """source: steps -1, 0 or 1; target: the position, counted from 0, where the walk begins."""

    symbols = ("-1", "0", "1")

    def __init__(
        self, *, cycle: Positive = 5, length: Positive = 40, min_length: Positive = 1, valid_length: Span | None = None,
        test_length: Span | None = None, aligned: Aligned = False, train_size: Positive = 100000,
        valid_size: Positive = 1000, seed: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(
            length=length, min_length=min_length, valid_length=valid_length, test_length=test_length, aligned=aligned,
            train_size=train_size, valid_size=valid_size, seed=seed,
        )  # fmt: skip
        self.states = tuple(str(i) for i in range(cycle))

    def track(self, values: Tensor) -> Tensor:
        return (values - 1).cumsum(1) % len(self.states)
