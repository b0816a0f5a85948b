"""A ladder: every arm at every size is an arm of its own, and the comparison of its runs has laws."""

import json

import pytest

from composer.config.composition import compose
from composer.core.problems import ConfigError
from composer.studies.comparison import compare
from composer.studies.planning.study import plan_study
from composer.studies.report import write_report
from composer.studies.report.content import content_of
from composer.studies.terminal import as_data, show
from composer.studies.tuning.tuning_rule import Searched
from tests.support.browser import Opened, open_browser
from tests.support.study_runs import Character, write_run

SIZES = [10_000, 20_000, 40_000, 80_000, 160_000]


def planned(*overrides):
    overrides = ["study=ladder", *overrides]
    composed = compose(overrides)
    return plan_study(composed.values, overrides, composed.locate)


def problems(*overrides):
    with pytest.raises(ConfigError) as raised:
        planned(*overrides)
    return {problem.path: problem.message for problem in raised.value.problems}


@pytest.mark.slow
def test_every_arm_is_planned_at_every_size_and_length():
    plan = planned("study.ladder.sizes=[6400,14700,25600,48000]", "study.ladder.steps=[10,20,40]")
    names = [f"{arm}@{size}@{steps}" for arm in ("mingru", "attention") for size in ("6.4k", "14.7k", "25.6k", "48k")
             for steps in (10, 20, 40)]  # fmt: skip
    assert [arm.name for arm in plan.arms] == names
    for arm in plan.arms:
        family, size, steps = arm.name.split("@")
        assert abs(arm.solved.residual) < 0.03
        assert arm.solved.target == float(size.removesuffix("k")) * 1000
        assert f"training.steps={steps}" in arm.overrides
        assert f"mixer={family}" in arm.overrides
    last = plan.final_trials({name: Searched((), True, {}, "") for name in names})[-1]
    assert compose(last.overrides).values["arm"] == "attention@48k@40", "the name survives the override"


@pytest.mark.parametrize(
    ("overrides", "path", "said"),
    [
        (["study.budget.target=5"], "study.budget.target", "study.ladder.sizes are the targets"),
        (["study.budget.of=mingru"], "study.budget.of", "study.ladder.sizes are the targets"),
        (["study.budget.kind=seconds"], "study.ladder", "study.budget.kind=parameters or flops"),
        (["study.budget=null"], "study.ladder", "study.budget.kind=parameters or flops"),
        (["study.ladder.sizes=[1e4,2e4]"], "study.ladder.sizes", "4 numbers or more"),
        (["study.ladder.sizes=[1e4,3e4,2e4,4e4]"], "study.ladder.sizes", "ascending"),
        (["study.ladder.sizes=[1e4,10001,2e4,4e4]"], "study.ladder.sizes", "different to three digits"),
        (["study.ladder.steps=[100,200]"], "study.ladder.steps", "3 numbers or more"),
        (["training.steps=3"], "training.steps", "Change study.ladder.steps instead"),
        (["model.dim=3"], "model.dim", "Change study.ladder.sizes instead"),
    ],
)
def test_a_ladder_that_cannot_be_is_refused_at_its_place(overrides, path, said):
    assert said in problems(*overrides)[path]


def write_ladder(folder, losses, seeds=3, steps=""):
    """Final runs of families whose losses are functions of the size and the seed."""
    for family, loss in losses.items():
        for size in SIZES:
            for seed in range(1, seeds + 1):
                arm = f"{family}@{size // 1000}k{steps}"
                trial = {"number": 0, "phase": "final", "parameters": {}}
                run = write_run(
                    folder / f"{arm}_{seed}", arm, seed, Character(family, 1.0, 1.0, size, 1e3, 1e4, 1e8), trial=trial
                )
                facts = json.loads((run / "run.json").read_text())
                facts["result"]["valid/loss"] = loss(size, seed)
                (run / "run.json").write_text(json.dumps(facts))
    return folder


def noisy(seed, size):
    return 1 + 0.001 * ((7919 * seed + size // 1000) % 5 - 2)


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    steep = lambda size, seed: 3.0 * (size / 1e4) ** -0.3 * noisy(seed, size)  # noqa: E731
    flat = lambda size, seed: (1.2 + 1.5 * (size / 1e4) ** -0.5) * noisy(seed, size)  # noqa: E731
    return compare([write_ladder(tmp_path_factory.mktemp("ladder"), {"steep": steep, "flat": flat})])


def test_laws_are_fitted_without_the_largest_size_which_they_foresee(compared):
    flat, steep = compared.ladders.families
    assert (flat.name, steep.name) == ("flat", "steep")
    assert [point.size for point in steep.points] == SIZES[:-1]
    assert steep.held_out.size == SIZES[-1]
    assert not steep.laws.shows_offset
    assert float(steep.laws.plain.law.exponent) == pytest.approx(0.3, abs=0.02)
    assert flat.laws.shows_offset
    assert float(flat.laws.general.law.offset) == pytest.approx(1.2, abs=0.1)
    for family in (flat, steep):
        _, (low, high) = family.foreseen()
        assert low < family.held_out.mean < high


def test_the_terminal_and_the_json_say_what_was_found(compared):
    text = " ".join(show(compared, 120).split())
    assert "The loss of steep falls as N^-0.30 [" in text
    assert "with no irreducible loss in sight" in text
    assert "At 160k, held out of the fit, steep was predicted 1.3" in text
    assert "as foreseen" in text
    data = as_data(compared)["ladders"]
    json.dumps(data, allow_nan=False)
    (crossing,) = data["crossings"]
    exact = next(
        size for size in range(10_000, 160_000, 10) if 3 * (size / 1e4) ** -0.3 < 1.2 + 1.5 * (size / 1e4) ** -0.5
    )
    assert crossing["size"] == pytest.approx(exact, rel=0.15)
    assert (crossing["lower_below"], crossing["lower_above"]) == ("flat", "steep")
    assert crossing["interval"][0] < crossing["size"] < crossing["interval"][1]


def test_the_report_has_the_curves_with_their_bands(compared):
    section = content_of(compared, "python")["ladder"]
    json.dumps(section, allow_nan=False)
    for family in section["families"]:
        law = family["law"]
        assert law["sizes"] == sorted(law["sizes"])
        assert all(low <= loss <= high for low, loss, high in zip(law["low"], law["losses"], law["high"], strict=True))
        assert [point["held_out"] for point in family["points"]] == [False] * 4 + [True]


@pytest.mark.slow
def test_the_page_draws_laws_points_and_the_crossing(compared, tmp_path):
    write_report(compared, tmp_path / "report.html", command="python")
    with open_browser() as browser:
        tab = Opened(browser, tmp_path / "report.html")
        section = tab.page.locator("#ladder")
        drawn = [section.locator(selector).count() for selector in (".line", ".band", ".mark", ".ring", "svg .cross")]
        tab.close()
    assert drawn == [2, 2, 10, 2, 1]
    assert tab.complaints == tab.requests == []


def test_two_families_that_never_cross_are_said_not_to(tmp_path):
    losses = {
        name: lambda size, seed, a=a: a * (size / 1e4) ** -0.2 * noisy(seed, size) for name, a in (("a", 2), ("b", 3))
    }
    ladders = compare([write_ladder(tmp_path, losses)]).ladders
    assert (
        "a and b do not cross within the sizes fitted, 10k to 80k parameters: a has the lower loss throughout."
        in (ladders.sentences[-1])
    )


def test_too_few_sizes_have_no_law_and_other_arms_no_ladder(tmp_path):
    for size in SIZES[:2]:
        write_run(tmp_path / f"{size}", f"a@{size // 1000}k", 1, Character("a", 1.0, 1.0, size, 1e3, 1e4, 1e8))
    write_run(tmp_path / "plain", "plain", 1, Character("plain", 1.0, 1.0, 5, 1e3, 1e4, 1e8))
    ladders = compare([tmp_path]).ladders
    assert ladders.sentences == ["a: no law is fitted to 2 sizes; it takes 3."]
    assert compare([tmp_path / "plain"]).ladders is None
