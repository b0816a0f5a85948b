from itertools import pairwise

import numpy as np
import pytest

from composer.studies.report.curves_section import POINTS, curves_of, thinned


def test_a_long_curve_becomes_means_of_consecutive_values_and_keeps_its_end():
    values = list(np.random.default_rng(0).normal(size=2000))
    found = thinned(values)
    bounds = [i * 1999 // (POINTS - 1) for i in range(POINTS)]
    assert len(found) == POINTS
    assert found[-1] == values[-1]
    assert found[:-1] == pytest.approx([np.mean(values[a:b]) for a, b in pairwise(bounds)])


def test_a_short_curve_stays_as_it_is():
    values = [3.0, None, 1.0]
    assert thinned(values) == values


def test_missing_values_are_left_out_of_a_mean():
    values = [1.0, None] * POINTS + [7.0]
    assert set(thinned(values)) == {1.0, 7.0}


def test_a_validation_lies_where_training_was_at_its_step():
    steps = [10, 20, 40]
    training = [
        {"step": s, "loss": 1.0, "tokens": t, "seconds": u}
        for s, t, u in zip(steps, [100, 250, 900], [1, 2, 6], strict=True)
    ]
    validation = [{"step": s, "valid/loss": 0.5} for s in (15, 20, 30, 40)]
    axes = curves_of([*training, *validation])["validation"]["axes"]
    assert axes["tokens"] == pytest.approx(np.interp([15, 20, 30, 40], steps, [100, 250, 900]))
    assert axes["seconds"] == pytest.approx(np.interp([15, 20, 30, 40], steps, [1, 2, 6]))
    assert "examples" not in axes  # runs before they were recorded


def test_a_validation_before_the_first_training_line_lies_in_proportion():
    rows = [{"step": 4, "valid/loss": 2.0}, {"step": 10, "loss": 1.0, "tokens": 100}, {"step": 12, "valid/loss": 2.0}]
    assert curves_of(rows)["validation"]["axes"]["tokens"] == pytest.approx([40, 120])


def test_values_that_are_no_numbers_are_missing():
    rows = [{"step": 1, "loss": None, "note": "x"}, {"step": 2, "loss": 0.25, "epoch": 1}, {"loss": 3.0}]
    found = curves_of(rows)["training"]
    assert found["metrics"] == {"loss": [None, 0.25]}
    assert found["axes"] == {"step": [1, 2]}


def test_a_run_without_metrics_has_empty_tables():
    found = curves_of([])
    assert found["training"]["metrics"] == {}
    assert found["training"]["axes"]["tokens"] == []
