"""The script of what a run survives works in small; what it tries in large has tests of its own in tests/training."""

import pytest

from benchmarks.survival import sweeps
from benchmarks.survival.kills import kills
from benchmarks.survival.programs import Baseline


@pytest.mark.slow
def test_a_killed_run_is_counted_and_loses_nothing(tmp_path):
    baseline = Baseline.train(tmp_path / "alone")
    (tmp_path / "killed").mkdir()
    tally = kills(tmp_path / "killed", baseline, 1, seed=1)
    assert not tally.faults
    assert tally.times == sum(tally.outcomes.values()) == 1
    (tmp_path / "alone" / "alone" / "metrics.jsonl").write_text('{"step": 1}\n')
    assert not baseline.same(tmp_path / "killed" / "killed0"), "a lost line of metrics is not seen"


@pytest.mark.slow
def test_a_sweep_killed_at_its_end_is_counted_and_loses_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(sweeps, "SWEEPS", {"named grid": sweeps.SWEEPS["named grid"]})
    tally = sweeps.sweeps(tmp_path, 1)
    assert not tally.faults
    assert tally.outcomes == {"named grid went on": 1}
    (report,) = (tmp_path / "named grid0").glob("runs/*/report.html")
    report.unlink()
    assert not sweeps.whole(report.parent), "a missing report is not seen"
