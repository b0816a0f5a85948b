"""The script of what a run survives works in small; what it tries in large has tests of its own in tests/training."""

import pytest

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
