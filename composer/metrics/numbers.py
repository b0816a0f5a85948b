"""Errors of real-valued predictions, and how they compare with those of a forecast that needs no model."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.signals import Seq
from composer.metrics.metric import Metric, Seen, divided, ratio

#: A spread this small beside the squares it is the difference of is rounding: the target never changes.
ROUNDING = 1e-12


def _squared(seen: Seen) -> Tensor:
    wanted, found, weight = seen.numbers()
    return _totals((found - wanted).square() * weight, torch.ones_like(wanted) * weight)


def _absolute(seen: Seen) -> Tensor:
    wanted, found, weight = seen.numbers()
    return _totals((found - wanted).abs() * weight, torch.ones_like(wanted) * weight)


def _totals(*parts: Tensor) -> Tensor:
    return torch.stack([part.sum((1, 2)) for part in parts], dim=1)


MSE = Metric("mse", 2, _squared, ratio)
MAE = Metric("mae", 2, _absolute, ratio)


def over_last(given: str) -> list[Metric]:
    """Errors beside those of a forecast that repeats the last step of what is given."""

    def rows(seen: Seen, squared: bool) -> Tensor:
        wanted, found, weight = seen.numbers()
        away, naive = found - wanted, _last(seen.given[given]) - wanted
        parts = (away.square(), naive.square()) if squared else (away.abs(), naive.abs())
        return _totals(*(part * weight for part in parts))

    return [
        Metric("mse_over_naive", 2, lambda seen: rows(seen, True), ratio),
        Metric("mae_over_naive", 2, lambda seen: rows(seen, False), ratio),
    ]


def _last(signal: object) -> Tensor:
    """(B, 1, D), the last real step of every row; zeros where there is none."""
    assert isinstance(signal, Seq)
    place = (signal.counts - 1).clamp(min=0)
    return signal.filled().double()[torch.arange(signal.batch), place][:, None]


def over_mean(dim: int) -> Metric:
    """The squared error beside that of the mean of what was wanted: 1 - R^2. Sums of y and y^2 give that mean's."""

    def rows(seen: Seen) -> Tensor:
        wanted, found, weight = seen.numbers()
        parts = [(found - wanted).square(), wanted, wanted.square()]
        sums = [(part * weight).sum(1) for part in parts]  # (B, D) each
        return torch.cat([*sums, weight.sum(1)], dim=1)

    def value(sums: Tensor) -> Tensor:
        (away, total, squares), count = sums[..., :-1].unflatten(-1, (3, dim)).unbind(-2), sums[..., -1:]
        spread = squares - total.square() / count
        spread = torch.where(spread > ROUNDING * squares, spread, 0.0)
        return divided(away.sum(-1), spread.sum(-1))

    return Metric("mse_over_naive", 3 * dim + 1, rows, value)
