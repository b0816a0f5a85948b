"""The demonstration of benchmarks.verdicts: three rates and twelve have another winner, and it is said."""

from benchmarks.verdicts.rates import recorded, show_flip


def test_a_ranking_that_flips_between_three_and_twelve_rates_is_reported(capsys):
    show_flip(recorded())
    few, many = capsys.readouterr().out.split("12 rates")
    assert "s4d has the lowest" in few
    assert few.count("not tuned: ") >= 3
    assert "gru has the lowest" in many
    assert "not tuned" not in many
