"""Forecasts that are hard to beat for their size: one linear layer over time, and the last value repeated."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from benchmarks.learning.task import PeerModel
from composer.core.signals import Seq, Signal
from composer.training.run.plan import TrainingPlan


def _given(inputs: Mapping[str, Signal]) -> Tensor:
    source = inputs["source"]
    assert isinstance(source, Seq)
    return source.values  # (B, S, D)


class NLinear(PeerModel):
    """NLinear (Zeng et al., 2023): the last value is subtracted, one matrix maps steps to steps for every channel."""

    def __init__(self, length: int, horizon: int) -> None:
        super().__init__()
        self.linear = nn.Linear(length, horizon)

    def forward(self, inputs: Mapping[str, Signal]) -> Tensor:
        given = _given(inputs)
        last = given[:, -1:]
        return self.linear((given - last).transpose(1, 2)).transpose(1, 2) + last  # (B, T, D)


class Naive(PeerModel):
    """The last value, repeated; there is nothing to learn."""

    def __init__(self, horizon: int) -> None:
        super().__init__()
        self.horizon = horizon

    def forward(self, inputs: Mapping[str, Signal]) -> Tensor:
        return _given(inputs)[:, -1:].repeat(1, self.horizon, 1)


def _steps(plan: TrainingPlan) -> tuple[int, int]:
    data = plan.composed.values["data"]
    return data["length"], data["horizon"]


def nlinear(plan: TrainingPlan) -> PeerModel:
    return NLinear(*_steps(plan))


def naive(plan: TrainingPlan) -> PeerModel:
    return Naive(_steps(plan)[1])
