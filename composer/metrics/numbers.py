"""Errors of real-valued predictions, and how they compare with those of a forecast that needs no model."""

from __future__ import annotations

import torch
from torch import Tensor

from composer.core.problems import UserError
from composer.core.registry import register
from composer.core.signals import Seq
from composer.core.target import Target
from composer.metrics.metric import HeadBatch, Metric, divided, ratio
from composer.metrics.steps import totals

#: A spread this small beside the squares it is the difference of is rounding: the target never changes.
ROUNDING = 1e-12


@register("metric", "mse")
class MeanSquaredError(Metric):
    direction = "min"
    meaning = "the mean squared error of an entry, in the units that the model sees"
    whole = True

    def rows(self, seen: HeadBatch) -> Tensor:
        wanted, found, weight = seen.numbers()
        return totals((found - wanted).square() * weight, torch.ones_like(wanted) * weight)


@register("metric", "mae")
class MeanAbsoluteError(Metric):
    direction = "min"
    meaning = "the mean absolute error of an entry, in the units that the model sees"
    whole = True

    def rows(self, seen: HeadBatch) -> Tensor:
        wanted, found, weight = seen.numbers()
        return totals((found - wanted).abs() * weight, torch.ones_like(wanted) * weight)


def naive_forecast(target: Target) -> str | None:
    """The given field whose last step, repeated, is a forecast of the target: the only sequence that is as wide."""
    field = target.field
    own = field.kind == "seq" and field.axis in (None, target.name)
    before = [name for name, given in target.given.items() if (given.kind, given.dim) == ("seq", field.dim)]
    alone = own and len(before) == 1 and (target.decodes or not target.generates)
    return before[0] if alone else None


@register("metric", "mse_over_naive")
class SquaredErrorOverNaive(Metric):
    """Beside the last given step repeated; where there is none, beside the mean of what was wanted, which is 1 - R^2.

    Sums of y and y^2 of every channel give the error of their mean.
    """

    direction = "min"
    meaning = (
        "the squared error beside that of a forecast without a model, the last step given or else the mean of the "
        "target; below 1 is better than none"
    )
    quoted = 3
    whole = True

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.before = naive_forecast(target)
        self.dim = target.field.dim or 1
        if self.before is None:
            self.width = 3 * self.dim + 1

    def rows(self, seen: HeadBatch) -> Tensor:
        wanted, found, weight = seen.numbers()
        if self.before is not None:
            naive = last_step(seen, self.before)
            return totals((found - wanted).square() * weight, (naive - wanted).square() * weight)
        parts = [(found - wanted).square(), wanted, wanted.square()]
        sums = [(part * weight).sum(1) for part in parts]  # (B, D) each
        return torch.cat([*sums, weight.sum(1)], dim=1)

    def value(self, sums: Tensor) -> Tensor:
        if self.before is not None:
            return ratio(sums)
        (away, total, squares), count = sums[..., :-1].unflatten(-1, (3, self.dim)).unbind(-2), sums[..., -1:]
        spread = squares - total.square() / count
        spread = torch.where(spread > ROUNDING * squares, spread, 0.0)
        return divided(away.sum(-1), spread.sum(-1))


@register("metric", "mae_over_naive")
class AbsoluteErrorOverNaive(Metric):
    direction = "min"
    meaning = "the absolute error beside that of the last step given, repeated"
    whole = True

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        before = naive_forecast(target)
        if before is None:
            raise UserError(
                f"mae_over_naive compares with the last given step, and '{target.name}' goes on from no sequence that "
                "is as wide. Leave this metric out."
            )
        self.before = before

    def rows(self, seen: HeadBatch) -> Tensor:
        wanted, found, weight = seen.numbers()
        naive = last_step(seen, self.before)
        return totals((found - wanted).abs() * weight, (naive - wanted).abs() * weight)


def last_step(seen: HeadBatch, given: str) -> Tensor:
    """(B, 1, D), the last real step of every row of what is given; zeros where there is none."""
    signal = seen.given[given]
    assert isinstance(signal, Seq)
    place = (signal.counts - 1).clamp(min=0)
    return signal.filled().double()[torch.arange(signal.batch), place][:, None]
