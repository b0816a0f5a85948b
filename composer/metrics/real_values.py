"""Errors of real-valued predictions, and their ratio to the errors of a naive forecast, which needs no model."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from composer.core.bounds import CONFIDENCE
from composer.core.problems import UserError
from composer.core.registry import register
from composer.core.signals import Field, Seq
from composer.core.target import Target
from composer.metrics.metric import ERROR, SHARE, HeadBatch, Metric, divided, ratio
from composer.metrics.single_predictions import totals

#: A variance below this fraction of the mean square is a rounding error: the target is constant.
ROUNDING = 1e-12


class OfErrors(Metric):
    """A metric of the errors of all entries.

    power: 1 for absolute errors, 2 for their squares
    """

    direction = "min"
    possible = ERROR
    whole = True
    power: ClassVar[int]

    def rows(self, seen: HeadBatch) -> Tensor:
        wanted, found, weight = seen.numbers()
        return totals(self.size(found - wanted) * weight, torch.ones_like(wanted) * weight)

    def size(self, errors: Tensor) -> Tensor:
        return errors.abs() ** self.power


@register("metric", "mse")
class MeanSquaredError(OfErrors):
    meaning = "the mean squared error of an entry, in the units that the model sees"
    power = 2


@register("metric", "mae")
class MeanAbsoluteError(OfErrors):
    meaning = "the mean absolute error of an entry, in the units that the model sees"
    power = 1


def is_real(target: Target) -> bool:
    """Whether a target has real values, which bounds can be given for."""
    return target.field.kind in ("seq", "vec") and not target.binary


def errors_of(seen: HeadBatch) -> Tensor:
    """(B, T, D), the errors of predictions in units of their deviation, as ``Bounds.of`` takes them: NaN where the
    weight is 0.

    T is the number of steps that the data fixes; otherwise every step is an example of its own, (B * N, 1, D).
    """
    wanted, found, weight = seen.numbers()
    errors = found - wanted if seen.deviation is None else (found - wanted) / seen.deviation
    errors = torch.where(weight > 0, errors, torch.nan).float()
    steps = seen.field.steps
    if steps is None:
        return errors.flatten(0, 1)[:, None]
    missing = errors.new_full((len(errors), max(0, steps - errors.shape[1]), errors.shape[2]), torch.nan)
    return torch.cat([errors[:, :steps], missing], dim=1)


@register("metric", "coverage")
class Coverage(Metric):
    """Only of a trained model, whose bounds a validation has calibrated."""

    direction = "max"
    meaning = f"the share of the values within the bounds of their prediction; {CONFIDENCE:g} is right"
    nominal = CONFIDENCE
    possible = SHARE
    whole = True

    def rows(self, seen: HeadBatch) -> Tensor:
        wanted, found, weight = seen.numbers()
        assert seen.bounds is not None
        half = seen.bounds.half_width(CONFIDENCE, wanted.shape[1]).double()  # (N, D)
        half = half.expand_as(wanted) if seen.deviation is None else half * seen.deviation
        known = weight * ~half.isnan()  # (B, N, D)
        return totals(((found - wanted).abs() <= half) * known, known)


def naive_forecast(target: Target) -> tuple[str, list[int]] | None:
    """The input whose last step, repeated, is the naive forecast of the target, and the places of the target's channels
    in that input; None where there is no such input.

    It is the only input sequence that has the target's channels.
    """
    field = target.field
    if field.kind != "seq" or field.axis not in (None, target.name) or not target.compared:
        return None
    sequences = {name: given for name, given in target.given.items() if given.kind == "seq"}
    found = [(name, places) for name, given in sequences.items() if (places := _places(given, field)) is not None]
    return found[0] if len(found) == 1 else None


def _places(given: Field, field: Field) -> list[int] | None:
    """The places of the target's channels in an input, which may have others, too; None where it lacks one."""
    names, wanted = given.contents.names, field.contents.names
    if names is None or wanted is None:
        return list(range(field.dim or 0)) if given.dim == field.dim else None
    return [names.index(name) for name in wanted] if {*wanted} <= {*names} else None


class OverNaive(OfErrors):
    """The errors divided by those of repeating the last input step."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.naive = naive_forecast(target)

    def rows(self, seen: HeadBatch) -> Tensor:
        wanted, found, weight = seen.numbers()
        assert self.naive is not None
        naive = last_step(seen, *self.naive)
        return totals(self.size(found - wanted) * weight, self.size(naive - wanted) * weight)


@register("metric", "mse_over_naive")
class SquaredErrorOverNaive(OverNaive):
    """Without a step to repeat, the divisor is the squared error of the target's mean, and the metric is 1 - R^2.

    The sums of y and y^2 of every channel give the squared error of their mean.
    """

    meaning = (
        "the squared error over that of a naive forecast, the last input step or else the mean of the target; below 1 "
        "is better than the naive forecast"
    )
    quoted = 3
    power = 2

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.dim = target.field.dim or 1
        if self.naive is None:
            self.width = 3 * self.dim + 1

    def rows(self, seen: HeadBatch) -> Tensor:
        if self.naive is not None:
            return super().rows(seen)
        wanted, found, weight = seen.numbers()
        parts = [(found - wanted).square(), wanted, wanted.square()]
        sums = [(part * weight).sum(1) for part in parts]  # (B, D) each
        return torch.cat([*sums, weight.sum(1)], dim=1)

    def value(self, sums: Tensor) -> Tensor:
        if self.naive is not None:
            return ratio(sums)
        (away, total, squares), count = sums[..., :-1].unflatten(-1, (3, self.dim)).unbind(-2), sums[..., -1:]
        spread = squares - total.square() / count
        spread = torch.where(spread > ROUNDING * squares, spread, 0.0)
        return divided(away.sum(-1), spread.sum(-1))

    def resampled(self, rows: Tensor) -> Tensor:
        """The mean of the target is that of all examples: the squares are those of the distances from it."""
        if self.naive is not None or not len(rows):
            return rows
        (away, total, squares), count = rows[:, :-1].unflatten(-1, (3, self.dim)).unbind(-2), rows[:, -1:]
        mean = total.sum(0) / count.sum()
        around = squares - 2 * mean * total + mean.square() * count
        spread = around.sum(0) > ROUNDING * squares.sum(0)
        return torch.cat([away, torch.zeros_like(total), torch.where(spread, around, 0.0), count], dim=1)


@register("metric", "mae_over_naive")
class AbsoluteErrorOverNaive(OverNaive):
    meaning = "the absolute error over that of a naive forecast, the last input step repeated"
    power = 1

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        if self.naive is None:
            raise UserError(
                f"mae_over_naive compares with the last given step, and '{target.name}' goes on from no sequence that "
                "has its channels. Leave this metric out."
            )


def last_step(seen: HeadBatch, given: str, places: list[int]) -> Tensor:
    """(B, 1, D), some channels of the last real step of every row of an input; zeros where a row has no step."""
    signal = seen.given[given]
    assert isinstance(signal, Seq)
    place = (signal.counts - 1).clamp(min=0)
    return signal.filled().double()[torch.arange(signal.batch), place][:, None, places]
