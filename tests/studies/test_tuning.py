"""The curves of a tuned study: which arms are tuned, windows by rate, and rankings that would flip."""

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from composer.cli.main import main
from composer.runs.sweep_folder import SweepFolder
from composer.studies.comparison import compare
from composer.studies.findings.rate_curves import Curve, curves, flips
from composer.studies.records.arms import Arm
from composer.studies.sweep.sweep_results import failed
from composer.studies.terminal import as_data, show
from tests.support.study_runs import JUDGED, VALLEYS, write_tuned
from tests.support.sweeps import TINY, only, run

RATES = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2)


def curve(qualities, chosen=3e-3, direction="min", arm="one", rates=RATES):
    return Curve(
        arm=arm, folder=Path(), key="optimiser.learning_rate", metric=JUDGED, direction=direction, rates=rates,
        qualities=tuple(qualities), chosen=chosen, untuned="", points=5, trials=5, seconds=1.0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_tuned(tmp_path_factory.mktemp("tuned") / "study")


@pytest.fixture(scope="module")
def found(study):
    return compare([study])


def test_an_arm_whose_optimum_is_far_outside_is_not_tuned_and_gets_no_verdict(found):
    reason = "its best learning_rate (3) is the highest tried"
    assert dict(found.untuned) == {"rnn": reason}
    verdicts = {verdict.arm: verdict for verdict in found.verdicts}
    assert verdicts["rnn"].words == f"not tuned: {reason}"
    assert (verdicts["rnn"].p, verdicts["rnn"].distinguishable) == (None, None)
    assert verdicts["gru"].words == "worse"
    assert f"rnn is not tuned: {reason}. It gets no verdict." in found.warnings
    assert found.sentence.endswith("; rnn is not tuned.")
    table = show(found, 100)
    assert "not tuned" in next(line for line in table.splitlines() if line.startswith("rnn"))
    assert "9 points" in " ".join(table.split())


def test_a_best_arm_that_is_not_tuned_is_said_and_the_verdicts_on_the_others_stay(tmp_path, monkeypatch):
    monkeypatch.setitem(VALLEYS, "lstm", (20.0, 0.01, 100.0))
    found = compare([write_tuned(tmp_path / "study")])
    assert found.arms[0].name == "lstm"
    assert found.warnings[0].startswith("lstm ranks first, but is not tuned: its best learning_rate (3)")
    assert "lowest, not tuned" in show(found, 160)
    assert {verdict.arm: verdict.distinguishable for verdict in found.verdicts}["gru"] is True


def test_runs_of_an_arm_that_is_not_tuned_say_so_without_their_tuning_runs(found):
    finals = [run.folder for arm in found.arms for run in arm.runs]
    assert dict(compare(finals).untuned) == dict(found.untuned)


def test_the_search_of_another_metric_than_the_compared_one_is_followed_by_its_own(study, found):
    other = compare([study], "exact")
    assert other.judged == "valid/exact"
    assert {name: each.chosen for name, each in other.curves.items()} == {n: c.chosen for n, c in found.curves.items()}


def test_json_has_the_curve_and_the_cost_of_every_arm(study, found, capsys):
    main(["compare", str(study), "--json"])
    data = json.loads(capsys.readouterr().out)
    assert data == {"version": 1, **json.loads(json.dumps(as_data(found)))}
    gru = next(each for each in data["tuning"] if each["arm"] == "gru")
    assert gru["rates"][-2:] == [0.01687, 0.03]
    assert gru["qualities"][-1] is None, "diverged"
    assert (gru["points"], gru["trials"], gru["untuned"]) == (7, 7, "")
    assert data["untuned"] == dict(found.untuned)


def test_tuning_at_a_share_of_the_steps_is_called_an_approximation(tmp_path):
    found = compare([write_tuned(tmp_path / "study", seeds=2, steps=0.25)])
    assert found.warnings[-1] == (
        "The arms were tuned with 0.25 of the final runs' steps, so the rates that were chosen are an approximation."
    )
    assert {each["steps"] for each in as_data(found)["tuning"]} == {0.25}


def test_tuning_that_was_not_finished_or_is_not_that_of_a_study_is_no_verdict_on_the_rate(found):
    trials = [trial for trial in found.trials if trial.arm == "lstm"]
    assert curves(trials[:-1], JUDGED, "min", {})["lstm"].untuned == "its tuning was not finished"
    edits = (None, [], {"space": 1}, {"space": {"a": "nonsense("}, "trials": 9, "seeds": [0]})
    edits += ({**trials[0].record.tuning, "seeds": []}, {**trials[0].record.tuning, "trials": 1})
    for tuning in edits:
        edited = [replace(trial, record=replace(trial.record, tuning=tuning)) for trial in trials]
        assert curves(edited, JUDGED, "min", {}) == {}


def test_the_window_is_where_the_interpolated_loss_is_within_five_percent():
    one = curve([2.0, 1.1, 1.0, 1.02, 4.0])
    low, high = one.window
    dense = np.geomspace(RATES[0], RATES[-1], 200_001)
    inside = dense[np.interp(np.log(dense), np.log(RATES), one.qualities) <= 1.05]
    assert (low, high) == pytest.approx((inside[0], inside[-1]), rel=1e-3)
    assert one.decades == pytest.approx(math.log10(high / low))
    assert not one.open_window


def test_the_window_of_a_score_is_by_what_it_lacks_of_one_but_a_hundredth_at_least():
    def limit(best):
        return curve([0, best - 0.5, best, 0, 0], direction="max")._limit()

    assert limit(0.6) == pytest.approx(0.58)
    assert limit(0.99) == pytest.approx(0.98)
    assert curve([10, 20, 30, 10, 10], direction="max")._limit() == pytest.approx(28.5), "a score up to 100"
    assert curve([math.nan, 1, 1, math.nan, math.nan]).window == (1e-3, 3e-3), "up to what could be trained"
    assert curve([1.0] * 5).open_window


@given(st.floats(1e-5, 1))
def test_between_two_rates_the_quality_is_interpolated_and_beyond_them_it_is_that_of_the_last(rate):
    qualities = [2.0, 1.5, 1.0, 1.02, 4.0]
    wanted = np.interp(np.log(rate), np.log(RATES), qualities)
    assert curve(qualities).at(rate) == pytest.approx(wanted)


def test_beside_a_rate_that_failed_the_nearest_one_counts():
    one = curve([2.0, 1.5, 1.0, 1.02, math.nan])
    assert one.at(1.2e-2) == 1.02
    assert math.isnan(one.at(2.5e-2))


def test_a_ranking_that_flips_at_half_or_double_the_rate_is_said():
    narrow = curve([9, 9, 1.0, 9, math.nan], arm="s4d")
    wide = curve([1.3, 1.25, 1.2, 1.25, 1.3], arm="gru")
    assert flips({"gru": wide, "s4d": narrow}, []) == {
        "s4d": "At half its learning_rate, s4d would be behind gru; "
        "at double its learning_rate, s4d would be behind gru (by the tuning runs)."
    }
    assert flips({"gru": wide, "s4d": curve([1.1, 1.1, 1.0, 1.1, 1.1])}, []) == {}
    at_risk = curve([1.1, 1.1, 1.0, math.nan, math.nan], arm="s4d")
    assert "double" in flips({"gru": wide, "s4d": at_risk}, [])["s4d"], "where training fails, it is behind"
    tasks = [[Arm("gru", (), ())], [Arm("s4d", (), ())]]
    assert flips({"gru": wide, "s4d": narrow}, tasks) == {}, "arms of other tasks are no rivals"


def test_a_rate_that_diverged_is_no_failure_of_the_study_but_an_arm_without_final_runs_is(tmp_path):
    folder = SweepFolder(write_tuned(tmp_path / "study", seeds=1))
    records = [run.read_record() for run in folder.runs()]
    assert [f"{each.phase} {each.arm}" for each in records if each.status == "failed"] == ["tuning gru"]
    assert not failed(folder)
    (final,) = (run for run in folder.runs() if run.path.name.endswith("_gru_seed_1"))
    final.update_record(status="failed")
    assert failed(folder)
    shutil.rmtree(final.path)
    assert failed(folder)


STUDY = """# @package _global_
study:
  arms: {narrow: [model.dim=8], deep: [model.nodes.encoder.depth=2]}
  budget: {of: narrow}
  seeds: [1, 2]
  tuning:
    trials: 5
    space: {optimiser.learning_rate: 'tag(log,interval(1e-6,1e-5))'}
"""


@pytest.mark.slow
def test_a_real_study_whose_rates_are_too_low_says_that_no_arm_is_tuned(tmp_path):
    (tmp_path / "own" / "study").mkdir(parents=True)
    (tmp_path / "own" / "study" / "low.yaml").write_text(STUDY)
    words = [word for word in TINY if not word.startswith("model.dim=")]
    done = run(tmp_path, "--config-dir", "own", "-m", *words, "study=low")
    assert done.code == 0, done.err
    assert "2 arms x (at most 5 tuning runs + 2 final runs) = at most 14 runs" in done.out
    reason = "its best learning_rate (1e-05) is the highest tried"
    assert " ".join(done.out.split()).count(f"not tuned: {reason}") == 2, done.out
    finals = list(only(tmp_path).glob("1?_*/run.json"))
    facts = [json.loads(path.read_text()) for path in finals]
    assert [each["untuned"] for each in facts] == [reason] * 4
    assert {each["budget"]["kind"] for each in facts} == {"parameters"}
    for path, each in zip(finals, facts, strict=True):
        assert yaml.safe_load(path.with_name("config.yaml").read_text())["budget"] == each["budget"]
    assert compare([only(tmp_path)]).curves["narrow"].rates == (1e-6, 1.778e-6, 3.162e-6, 5.623e-6, 1e-5)
