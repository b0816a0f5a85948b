"""Every value of a sweep is checked before its first trial: nothing is begun if no trial with it can be trained."""

import pytest

from composer.config.composition import compose
from composer.core.problems import UserError
from composer.studies.sweep.value_checks import TRIED, ValueRefused, check_values, corners
from composer.studies.tuning.search_space import Choice, Interval
from tests.support.sweeps import TINY, run

STUDY = """# @package _global_
study:
  arms: {one: []}
  seeds: [1]
  tuning: {trials: 2, space: {mixer.bias: 'choice(true,false)', model.nodes.encoder.depth: 'SPACE'}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "refused"),
    [
        (["mixer=glob(l*)"], "mixer=luong cannot be trained"),  # lstm and linear_attention can
        (["seed=1,2", "mixer=gru,luong"], "mixer=luong cannot be trained"),
        (["seed=range(1,3)", "model.dim=choice(8,0)"], "model.dim=0 cannot be trained"),
        (["mixer=luong"], "'luong' needs a memory"),
        (["search=random", "mixer=gru,luong"], "mixer=luong cannot be trained"),
        (["search=random", "model.nodes.encoder.depth=int(interval(-1,2))"], "encoder.depth=-1 cannot be trained"),
        (["search=own"], "own.yaml:3"),
        (["study=own"], "own.yaml:5"),
    ],
    ids=str,
)
def test_a_value_that_cannot_be_trained_is_refused_before_the_first_trial(tmp_path, words, refused):
    for group, text in (
        ("search", "defaults: [tpe]\nspace:\n  mixer: choice(gru,luong)\n"),
        ("study", STUDY.replace("SPACE", "choice(1,-1)")),
    ):
        (tmp_path / "own" / group).mkdir(parents=True)
        (tmp_path / "own" / group / "own.yaml").write_text(text)
    done = run(tmp_path, "--config-dir", "own", "-m", *TINY, *words)
    assert done.code == 2, done.out
    assert refused in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "runs").exists()


class Counted:
    """Composes configs of a width and a number of heads, and counts them."""

    def __init__(self):
        self.count = 0

    def __call__(self, overrides):
        self.count += 1
        return compose([*(word for word in TINY if not word.startswith("mixer=")), "cross.heads=1", *overrides])


def grid(dims, heads):
    values = [{"model.dim": dim, "mixer.heads": count} for dim in dims for count in heads]
    return [(point, [f"{key}={value}" for key, value in point.items()]) for point in values]


@pytest.mark.slow
def test_a_combination_that_fails_does_not_condemn_its_values():
    compose = Counted()
    check_values(grid([8, 9], [4, 3]), compose)  # 8 goes with 4 heads and 9 with 3, the other two do not
    assert compose.count == 3
    with pytest.raises(ValueRefused, match=r"mixer\.heads=5 cannot be trained") as caught:
        check_values(grid([8, 9], [4, 3, 5]), compose)
    assert (caught.value.key, caught.value.value) == ("mixer.heads", 5)


@pytest.mark.slow
def test_a_grid_is_checked_value_by_value():
    compose = Counted()
    check_values([({"seed": i, "dim": j}, [f"seed={i}", f"model.dim={j}"]) for i in range(3) for j in (4, 8)], compose)
    assert compose.count == 4


@pytest.mark.slow
def test_a_value_is_tried_in_few_trials():
    compose = Counted()
    with pytest.raises(UserError):
        check_values([({"mixer": "luong", "seed": i}, ["mixer=luong"]) for i in range(100)], compose)
    assert compose.count <= TRIED


def test_every_choice_and_both_ends_of_every_interval_occur_alone_and_together():
    space = {"a": Choice((1, 2, 3)), "b": Interval(0.1, 0.2, log=False), "c": Interval(1, 4, log=True)}
    found = list(corners(space))
    assert {point["a"] for point in found} == {1, 2, 3}
    assert {point["b"] for point in found} == {0.1, 0.2}
    assert {point["c"] for point in found} == {1, 4}
    assert {"a": 1, "b": 0.2, "c": 1} in found
    assert {"a": 2, "b": 0.2, "c": 4} in found
    assert list(corners({})) == []
