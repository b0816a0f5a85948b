"""benchmarks/forecasts.py trains with defaults on the series that it makes, and prints what the test split shows."""

import pytest

from benchmarks import forecasts

TINY = [
    "training.steps=2", "training.validate_every=1", "data.length=8", "data.horizon=3", "model.dim=8",
    "optimiser.learning_rate=0.5",
]  # fmt: skip


@pytest.mark.slow
def test_a_forecaster_does_not_lose_to_the_last_value(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(forecasts.MADE, "walks", lambda: [forecasts.walk(300, seed) for seed in (2, 3)])
    chosen = ["--folder", str(tmp_path), "--series", "walks", "--mixers", "gru", "--data", str(tmp_path), "--", *TINY]
    for _ in range(2):  # the second time, nothing is trained
        forecasts.main(chosen)
    head, first, again, second = capsys.readouterr().out.splitlines()
    assert (head, first) == (again, second)
    series, mixer, step, _, ratio, coverage = first.split()
    assert (series, mixer, step, float(ratio)) == ("walks", "gru", "0", 1.0)
    assert 0.85 < float(coverage) <= 1
    forecasts.main(["--folder", str(tmp_path), "--series", "ett", "--data", str(tmp_path)])
    assert "left out" in capsys.readouterr().out
