"""Forecasts of sine waves y_t = a sin(2 pi t / p + phase): the input is noisy, the target is not."""

from __future__ import annotations

import math
from typing import Annotated

import torch
from torch import Tensor

from composer.core.block import Positive, Range, Scale
from composer.core.problems import Invalid
from composer.core.registry import register
from composer.core.signals import Field, Seq, Signal
from composer.data.generated_source import FixedLength
from composer.data.source import Split


@register("data", "sine")
class Sine(FixedLength):
    """source: ``length`` noisy steps; target: the next ``horizon`` steps without noise.

    Amplitude (0.5 to 1), period and phase are drawn for every example.
    """

    length: Positive = 60
    horizon: Positive = 20
    noise: Annotated[float, Range(low=0)] = 0.1
    min_period: Scale = 10.0
    max_period: Scale = 40.0

    def prepare(self) -> None:
        if self.min_period > self.max_period:
            raise Invalid("min_period", f"{self.min_period:g} is more than max_period, {self.max_period:g}.")

    def bare_fields(self) -> dict[str, Field]:
        return {
            "source": Field("seq", dim=1, steps=self.spans.fixed),
            "target": Field("seq", dim=1, steps=self.horizon),
        }

    def make(self, split: Split, rows: Tensor) -> dict[str, Signal]:
        length = self.spans.most(split)
        draws = self.draw("wave", split, rows, 3)
        low, high = self.min_period, self.max_period
        amplitude, period, phase = 0.5 + 0.5 * draws[:, :1], low + (high - low) * draws[:, 1:2], draws[:, 2:]
        steps = torch.arange(length + self.horizon)
        wave = amplitude * torch.sin(2 * math.pi * (steps / period + phase))  # (B, T)
        u, v = self.draw("noise", split, rows, 2 * length).chunk(2, dim=1)
        noise = (-2 * (1 - u).log()).sqrt() * torch.cos(2 * math.pi * v)  # Box and Muller, 1958
        given = wave[:, :length] + self.noise * noise
        return {
            "source": Seq(given.float()[..., None].contiguous()),
            "target": Seq(wave[:, length:].float()[..., None].contiguous()),
        }
