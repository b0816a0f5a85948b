import numpy as np
import pytest
from scipy import stats

from composer.studies.comparison import compare
from composer.studies.report.tuning_section import FEWEST, explained, importance, ranks, tuning_of
from tests.support.study_runs import STUDY, write_run


def adjusted(share, count, degrees):
    return 1 - (1 - share) * (count - 1) / (count - degrees - 1)


def test_ranks_are_those_of_scipy():
    values = [3.0, 1.0, 3.0, 2.0, 3.0]
    assert ranks(values) == list(stats.rankdata(values))


def test_the_share_of_a_number_is_that_of_a_parabola_fitted_by_numpy():
    draw = np.random.default_rng(0)
    settings, values = draw.uniform(size=30), draw.normal(size=30)
    x = stats.rankdata(settings)
    left = values - np.polyval(np.polyfit(x, values, 2), x)
    share = adjusted(1 - left @ left / np.square(values - values.mean()).sum(), 30, 2)
    assert explained(list(settings), list(values)) == pytest.approx(max(0, share))


def test_the_share_of_a_choice_is_that_of_its_means():
    settings = ["a", "b", "c"] * 4
    values = [1.0, 2.0, 4.0, 1.5, 2.5, 3.5, 0.5, 2.2, 4.1, 1.2, 1.8, 3.9]
    means = {each: np.mean(values[place::3]) for place, each in enumerate("abc")}
    left = sum((value - means[setting]) ** 2 for setting, value in zip(settings, values, strict=True))
    share = 1 - left / np.square(np.array(values) - np.mean(values)).sum()
    assert explained(settings, values) == pytest.approx(adjusted(share, 12, 2))


def test_too_few_trials_say_nothing():
    assert explained([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) is None
    assert explained([1.0] * 20, list(range(20))) is None  # never varied
    assert explained(list(range(20)), [1.0] * 20) is None  # always the same result


def trial(arm, value, **parameters):
    return {"arm": arm, "status": "finished", "value": value, "parameters": parameters}


def test_the_parameter_that_decides_is_the_most_important_whatever_the_arm():
    draw = np.random.default_rng(1)
    trials = []
    for arm, level in (("a", 0.0), ("b", 100.0)):
        for _ in range(12):
            rate, dropout = draw.uniform(size=2)
            trials.append(trial(arm, level + (rate - 0.4) ** 2, rate=rate, dropout=dropout))
    first, second = importance(trials, ["dropout", "rate"])
    assert (first["name"], second["name"]) == ("rate", "dropout")
    assert first["share"] > 0.7 > 0.3 > second["share"]


def test_pruned_and_failed_trials_do_not_count():
    trials = [trial("a", float(i), rate=float(i)) for i in range(FEWEST - 1)]
    trials += [{**trial("a", 9.0, rate=9.0), "status": "pruned"}, {**trial("a", None, rate=1.0), "status": "failed"}]
    assert importance(trials, ["rate"]) == []


def test_arms_with_two_trials_each_say_nothing_of_importance():
    trials = [trial(arm, rate, rate=rate) for arm in "abcd" for rate in (1.0, 2.0)]
    assert importance(trials, ["rate"]) == []


@pytest.mark.parametrize(
    ("written", "scale"), [("tag(log,interval(1e-3,1e-2))", "log"), ("interval(1e-3,1)", "linear")]
)
def test_the_axis_of_a_parameter_is_that_of_its_range(tmp_path, written, scale):
    for number, rate in enumerate((0.001, 0.004, 0.2)):
        about = {"tuning": {"space": {"optimiser.learning_rate": written}, "trials": 3, "seeds": [0], "steps": None}}
        given = {"number": number, "phase": "tuning", "parameters": {"optimiser.learning_rate": rate}}
        write_run(tmp_path / str(number), "lstm", 1, STUDY["lstm"], trial=given, about=about)
    (axis,) = tuning_of(compare([tmp_path]))["parameters"]
    assert axis["scale"] == scale
