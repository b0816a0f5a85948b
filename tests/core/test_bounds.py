"""Bounds from held-out errors: of the share that was asked for, for any distribution, by step and channel."""

import pytest
import torch

from composer.core.bounds import LEVELS, Bounds

#: Errors of a small, a large and a skewed distribution, that grow with the steps.
GROWTH = torch.tensor([1.0, 2.0, 3.0, 10.0])[:, None]


def errors(rows, seed=0):
    draw = torch.Generator().manual_seed(seed)
    normal, other = (torch.randn(rows, 4, 1, generator=draw).double() for _ in range(2))
    return torch.cat([normal, 100 * other, 0.1 * (other.exp() - 1)], dim=2) * GROWTH


@pytest.mark.parametrize("confidence", [0.3, 0.5, 0.9, 0.95, 0.9625])
def test_bounds_hold_the_share_of_new_values_that_was_asked_for(confidence):
    bounds = Bounds.of([errors(1000, seed=1), errors(500, seed=2)])
    inside = errors(20_000, seed=3).abs() <= bounds.half_width(confidence, 4)
    assert inside.double().mean().item() == pytest.approx(confidence, abs=0.02)
    assert inside.double().mean((0, 2)).tolist() == pytest.approx([confidence] * 4, abs=0.05)


def test_bounds_are_as_wide_as_the_errors_of_their_step_and_channel():
    found = errors(300)
    half = Bounds.of([found]).half_width(0.8, 4)
    scale = found.square().mean(0).sqrt().float()
    ratio = (found.abs() / scale).flatten().sort().values
    torch.testing.assert_close(half / scale, torch.full((4, 3), float(ratio[-(-8 * (len(ratio) + 1) // 10) - 1])))


def test_steps_that_no_example_had_have_no_bounds():
    found = errors(50)
    found[:, 2] = torch.nan  # padding
    found[:25, 1] = torch.nan
    half = Bounds.of([found]).half_width(0.9, 6)
    assert half.isnan().tolist() == [[step not in (0, 1, 3)] * 3 for step in range(6)]
    assert Bounds.of([]) is None
    assert Bounds.of([found[:, 2:3]]) is None


def test_one_step_stands_for_all_where_all_are_alike():
    bounds = Bounds.of([errors(50)[:, :1]])
    assert bounds.half_width(0.9, 5).shape == (5, 3)
    assert bounds.quantiles.shape == (LEVELS + 1,)


def test_exact_predictions_have_bounds_without_width():
    assert Bounds.of([torch.zeros(9, 2, 1)]).half_width(0.95, 2).tolist() == [[0.0], [0.0]]
