"""Intervals of windows that overlap: wide enough to hold the truth, as those of single windows are not."""

from types import SimpleNamespace

import pytest
import torch

from composer.core.signals import Field
from composer.data import load_source
from composer.metrics.bootstrap import Examples
from composer.metrics.evaluation import Evaluation, Score, examples_of
from composer.objectives import Objective, Origin
from tests.support.metrics import metric

#: Steps of a window that is forecast, and windows of a series.
HORIZON, WINDOWS = 12, 600


def errors(seed):
    """The squared errors of overlapping windows: sums over HORIZON steps of noise whose mean square is 1."""
    noise = torch.randn(WINDOWS + HORIZON - 1, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return noise.square().unfold(0, HORIZON, 1).sum(1)


def interval(totals, examples):
    statistics = torch.stack([totals, torch.full_like(totals, HORIZON)], dim=1)
    score = Score({"output": metric("mse", Field("seq", dim=1))})
    found = Evaluation({"mse": float(totals.mean() / HORIZON)}, [], {"mse": statistics}, {"mse": score}, examples)
    return found.interval("mse", 0.95, resamples=300)


def test_intervals_of_blocks_cover_the_truth_and_those_of_single_windows_do_not():
    places = torch.arange(WINDOWS)
    naive = blocks = 0
    for seed in range(100):
        totals = errors(seed)
        low, high = interval(totals, Examples())
        naive += low <= 1 <= high
        low, high = interval(totals, Examples(WINDOWS, HORIZON, places))
        blocks += low <= 1 <= high
    assert naive < 60, "single windows look more certain than they are"
    assert blocks > 85


def test_the_order_of_the_examples_does_not_change_their_interval():
    totals, order = errors(0), torch.randperm(WINDOWS, generator=torch.Generator().manual_seed(1))
    in_order = interval(totals, Examples(WINDOWS, HORIZON, torch.arange(WINDOWS)))
    assert interval(totals[order], Examples(WINDOWS, HORIZON, order)) == pytest.approx(in_order)


@pytest.mark.parametrize(("size", "overlap"), [(40, 3), (7, 4), (11, 2)])
def test_a_resample_is_made_of_whole_blocks_that_may_go_on_at_the_start(size, overlap):
    examples = Examples(size, overlap, torch.arange(size))
    counts = torch.cat(list(examples.counts(size, 50, seed=3)))
    assert counts.shape == (50, size)
    blocks = -(-size // examples.block)
    assert (counts.sum(1) == blocks * examples.block).all()
    if examples.block > 1:
        begins = (counts - counts.roll(1, dims=1)).clamp(min=0).sum(1)  # a block that follows another begins nowhere
        assert (begins <= blocks).all()


def test_windows_that_do_not_overlap_and_rows_of_several_splits_are_resampled_one_by_one():
    source = SimpleNamespace(overlap=lambda split: 1)
    objective = SimpleNamespace(source=source, size=lambda split: 9)
    assert examples_of(objective, [Origin("valid", torch.arange(3))]) == Examples()
    source.overlap = lambda split: 4
    assert examples_of(objective, [Origin("valid", torch.arange(3)), None]) == Examples()
    both = [Origin("valid", torch.arange(3)), Origin("test", torch.arange(3))]
    assert examples_of(objective, both) == Examples()
    some = examples_of(objective, [Origin("valid", torch.tensor([4, 1])), Origin("valid", torch.tensor([2]))])
    assert (some.size, some.overlap, some.places.tolist()) == (9, 4, [4, 1, 2])


@pytest.mark.parametrize(("stride", "overlap"), [(1, 12), (5, 3), (12, 1), (20, 1)])
def test_windows_of_a_series_overlap_where_they_share_steps(tmp_path, stride, overlap):
    (tmp_path / "series.csv").write_text("x\n" + "".join(f"{i % 7}.5\n" for i in range(300)))
    section = {"type": "series", "path": f"{tmp_path}/series.csv", "length": 8, "horizon": 4, "stride": stride}
    objective = Objective(load_source(section))
    assert objective.source.overlap("valid") == overlap
    rows = objective.batch("valid", range(2)).signals["source"].values  # (2, 8, 1)
    shared = torch.equal(rows[0, stride:], rows[1, : 8 - stride]) if stride < 8 else False
    assert shared == (stride < 8)


def test_windows_of_a_text_overlap_where_their_stride_is_shorter(tmp_path):
    (tmp_path / "text.txt").write_text("abcdefgh" * 100)
    section = {"type": "text", "path": f"{tmp_path}/text.txt", "length": 10}
    assert Objective(load_source(section)).source.overlap("valid") == 1
    assert Objective(load_source(section | {"stride": 4})).source.overlap("valid") == 3
    assert Objective(load_source(section | {"stride": 4, "valid_length": 20})).source.overlap("valid") == 1


def test_the_method_is_said():
    assert "of the examples" in Examples().method
    said = Examples(1000, 12, torch.arange(1000)).method
    assert "blocks of 24 consecutive windows" in said
    assert "wider" not in said
    assert "the true intervals are wider" in Examples(50, 40, torch.arange(50)).method
