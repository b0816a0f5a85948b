"""Arms, verdicts, warnings and the answer, for runs with known results."""

import json
import math
import random
import re

import numpy
import pytest
from scipy import stats

from composer.core.problems import UserError
from composer.metrics import possible
from composer.studies.comparison import compare
from composer.studies.formatting import between, common_decimals, with_interval
from composer.studies.report.report_page import write_report
from composer.studies.statistics.over_seeds import Estimate, estimate
from composer.studies.terminal import as_data, show
from tests.support.runs import write_grid, write_run

#: gru and lstm are alike, rnn is worse by far in every seed.
LOSSES = {"rnn": [2.0, 2.1, 1.9], "lstm": [1.02, 1.11, 0.93], "gru": [1.0, 1.1, 0.95]}


def arms(comparison):
    return [arm.name for arm in comparison.arms]


def test_arms_are_ranked_and_judged_against_the_best(tmp_path):
    found = compare([write_grid(tmp_path / "sweep", LOSSES)])
    assert arms(found) == ["mixer=gru", "mixer=lstm", "mixer=rnn"]
    assert [arm.overrides for arm in found.arms] == [("mixer=gru",), ("mixer=lstm",), ("mixer=rnn",)]
    assert [run.seed for run in found.arms[0].runs] == [1, 2, 3]
    assert found.arms[0].quality("valid/loss").mean == pytest.approx(1.0167, abs=1e-4)
    assert (found.judged, found.direction, found.skipped, found.warnings, found.trials) == (
        "valid/loss",
        "min",
        (),
        (),
        (),
    )
    close, worse = found.verdicts
    assert (close.arm, close.distinguishable, worse.arm, worse.distinguishable) == (
        "mixer=lstm",
        False,
        "mixer=rnn",
        True,
    )
    assert close.paired
    own = [stats.ttest_rel(LOSSES[name], LOSSES["gru"]).pvalue / 2 for name in ("lstm", "rnn")]
    holm = [2 * own[0], 3 * own[1]]  # one-sided, over three arms: the smallest p-value is tripled
    tukey = tukeys_p([LOSSES[name] for name in ("gru", "lstm", "rnn")], 2)
    assert worse.p == pytest.approx(max(holm[1], tukey), rel=1e-4)
    assert close.p == pytest.approx(holm[0]), "the arm that is worse has left; of two arms, both tests are the same"
    assert (worse.seeds, worse.words) == (None, "worse")
    assert 3 < close.seeds.low < close.seeds.about
    assert close.words == f"not distinguishable (about {close.seeds.about} seeds, {close.seeds.low} to > 1,000)"
    assert found.sentence == (
        "mixer=gru has the lowest validation loss (1.017 ± 0.190, 3 seeds); "
        "mixer=lstm is not distinguishable from it; mixer=rnn is worse."
    )
    assert "corrected by Holm's method over all arms, that must agree with Tukey's test" in found.methods
    assert "2 paired by seed" in found.methods


def tukeys_p(table, arm):
    """Tukey's test of an arm against the first one, in a table without the effects of arms and seeds."""
    rows = numpy.array(table)
    rest = rows - rows.mean(0) - rows.mean(1, keepdims=True) + rows.mean()
    freedom = (rows.shape[0] - 1) * (rows.shape[1] - 1)
    error = math.sqrt((rest**2).sum() / freedom / rows.shape[1])
    q = abs(rows[arm].mean() - rows[0].mean()) / error
    return stats.studentized_range.sf(q, rows.shape[0], freedom)


def forecasts(folder, ratios):
    """Runs that were compared with a naive forecast, by arm."""
    for name, values in ratios.items():
        for seed, ratio in enumerate(values, start=1):
            result = {"valid/loss": ratio, "valid/mse": ratio, "valid/mse_over_naive": ratio}
            write_run(folder / f"{name}_{seed}", [f"mixer={name}"], seed=seed, group="g", judge="mse", result=result)
    return compare(sorted(folder.iterdir())).sentence


def test_the_answer_says_when_no_arm_beats_the_naive_forecast(tmp_path):
    naive = "better than the naive forecast"
    worse = forecasts(tmp_path / "worse", {"gru": [1.2, 1.1], "lstm": [1.0, 1.0]})
    assert worse.endswith(f"No arm is {naive}: the lowest squared error, that of mixer=lstm, is 1 of the naive one.")
    alone = forecasts(tmp_path / "alone", {"gru": [1.25]})
    assert alone.endswith(f"It is not {naive}: its squared error is 1.25 of the naive one.")
    assert naive not in forecasts(tmp_path / "better", {"gru": [1.2, 1.1], "lstm": [0.9, 0.8]})
    assert naive not in compare([write_grid(tmp_path / "words", LOSSES)]).sentence


def test_a_metric_may_be_better_when_it_is_higher(tmp_path):
    folder = write_grid(tmp_path / "sweep", LOSSES)
    for name in ("accuracy", "valid/accuracy"):
        found = compare([folder], name)
        assert (found.judged, found.direction) == ("valid/accuracy", "max")
        assert arms(found)[0] == "mixer=gru"
        assert found.sentence.startswith("mixer=gru has the highest validation accuracy (")


def test_a_sweep_says_what_it_was_judged_by(tmp_path):
    folder = write_grid(tmp_path / "sweep", LOSSES)
    (folder / "sweep.json").write_text(json.dumps({"format": 1, "judged": "valid/accuracy", "direction": "min"}))
    assert arms(compare([folder]))[0] == "mixer=rnn"
    assert compare(sorted(folder.glob("*_*"))).judged == "valid/accuracy"  # a shell's runs/sweep/*
    assert compare([folder], "loss").judged == "valid/loss"
    other = write_grid(tmp_path / "other", {"conv": [3.0]})
    (other / "sweep.json").write_text(json.dumps({"format": 1, "judged": "valid/loss", "direction": "min"}))
    both = compare([folder, other])
    assert both.judged == "valid/loss"
    assert "different metrics" in both.warnings[0]
    (folder / "sweep.json").write_text('{"judged": ["valid/accuracy"]}')  # not ours: it names no metric
    assert compare([folder]).judged == "valid/loss"
    (folder / "sweep.json").write_text("{")
    broken = compare([folder])
    assert broken.judged == "valid/loss"
    assert "its sweep.json is not JSON" in broken.skipped[0][1]


def test_an_unknown_metric_is_one_sentence(tmp_path):
    folder = write_grid(tmp_path / "sweep", LOSSES)
    with pytest.raises(UserError, match=r"no run has 'acuracy'\. Did you mean 'valid/accuracy'"):
        compare([folder], "acuracy")
    write_run(tmp_path / "own", result={"valid/near": 0.5})
    with pytest.raises(UserError, match=r"'valid/near' is none of our metrics\. .* --plugin"):
        compare([tmp_path / "own"], "near")


def test_one_seed_has_no_interval_and_the_answer_says_so(tmp_path):
    found = compare([write_grid(tmp_path / "sweep", {"gru": [1.0], "lstm": [1.1]})])
    (verdict,) = found.verdicts
    assert (verdict.p, verdict.distinguishable, verdict.seeds, verdict.words) == (None, None, None, "too few seeds")
    assert verdict.difference == Estimate((pytest.approx(0.1),), pytest.approx(0.1), None)
    assert found.sentence == (
        "mixer=gru has the lowest validation loss (1, one seed, so no interval can be given); "
        "whether mixer=gru differs from mixer=lstm cannot be told with so few seeds."
    )
    assert "Holm" not in found.methods


def test_a_single_arm_is_reported_as_the_only_one(tmp_path):
    found = compare([write_run(tmp_path / "mine", ["mixer=gru"], 0.5)])
    assert found.sentence == "mine is the only arm. Its validation loss is 0.5, one seed, so no interval can be given."
    assert found.verdicts == ()
    for seed in (1, 2):
        write_run(tmp_path / "both" / str(seed), ["mixer=gru", "data=copy"], 0.5 * seed, seed)
    assert arms(compare([tmp_path / "both"])) == ["mixer=gru, data=copy"]


def test_arms_of_other_seeds_are_compared_by_welchs_test(tmp_path):
    for seed, loss in enumerate([1.0, 1.2, 1.1], start=1):
        write_run(tmp_path / f"a{seed}", ["mixer=gru"], loss, seed)
    for seed, loss in enumerate([1.5, 1.9], start=3):  # one shared seed is too few for a paired test
        write_run(tmp_path / f"b{seed}", ["mixer=rnn"], loss, seed)
    found = compare([tmp_path])
    (verdict,) = found.verdicts
    assert not verdict.paired
    assert verdict.p == pytest.approx(stats.ttest_ind([1.5, 1.9], [1.0, 1.2, 1.1], equal_var=False).pvalue)
    assert "1 by Welch's test" in found.methods


def test_only_shared_seeds_are_paired(tmp_path):
    losses = {("gru", 1): 1.0, ("gru", 2): 1.2, ("gru", 3): 0.9, ("rnn", 2): 1.5, ("rnn", 3): 1.3, ("rnn", 9): 7.0}
    for (mixer, seed), loss in losses.items():
        write_run(tmp_path / f"{mixer}{seed}", [f"mixer={mixer}"], loss, seed)
    (verdict,) = compare([tmp_path]).verdicts
    assert verdict.paired
    assert verdict.difference.values == pytest.approx((0.3, 0.4))


def test_results_without_spread_are_equal_or_cannot_be_told(tmp_path):
    found = compare([write_grid(tmp_path / "sweep", {"a": [1.0, 1.0], "b": [1.0, 1.0], "c": [2.0, 2.0]})])
    same, other = found.verdicts
    assert (same.p, same.distinguishable, same.words) == (1.0, False, "equal")
    assert (other.p, other.distinguishable, other.words) == (None, None, "no spread between seeds")
    assert found.sentence.endswith(
        "whether mixer=a differs from mixer=c cannot be told because the difference is the same in every seed."
    )


def test_a_pair_without_spread_is_judged_by_the_spread_of_the_others(tmp_path):
    losses = {"a": [0.0, 0.0, 0.0], "b": [0.5, 0.5, 0.5], "c": [0.4, 0.5, 0.3], "d": [0.8, 0.7, 0.6]}
    found = compare([write_grid(tmp_path / "sweep", losses)])
    verdict = next(each for each in found.verdicts if each.arm == "mixer=b")
    assert verdict.p == pytest.approx(tukeys_p(list(losses.values()), 1), rel=1e-3)
    assert 0 < verdict.p < 0.05
    assert verdict.words == "worse"


def test_arms_that_diverged_are_behind_the_others(tmp_path):
    """However good their other seeds are, they are never the best."""
    write_grid(tmp_path, {"gru": [1.0, 1.1, 0.95], "lstm": [1.02, 1.11, 0.93], "rnn": [0.1, 0.1]})
    reason = "the loss is not finite at step 7: node 'encoder' is the first whose output is not. Lower the rate."
    failed = {"status": "failed", "reason": reason}
    write_run(tmp_path / "20", ["data=copy", "mixer=rnn"], seed=3, **failed)
    for seed in (1, 2, 3):
        write_run(tmp_path / f"3{seed}", ["data=copy", "mixer=s4d"], seed=seed, **failed)
    write_run(tmp_path / "40", ["data=copy", "mixer=s4d"], math.inf, seed=3)  # counted once
    bad = "the loss is not finite at step 7: the data is not, its field 'x' holds nan or inf. Mend the data."
    write_run(tmp_path / "50", ["data=copy", "mixer=gru"], seed=4, status="failed", reason=bad)
    found = compare([tmp_path])
    assert arms(found) == ["mixer=gru", "mixer=lstm", "mixer=rnn", "mixer=s4d"]
    assert [arm.diverged for arm in found.arms] == [(), (), (3,), (1, 2, 3)]
    lstm, rnn, s4d = found.verdicts
    assert lstm.p == pytest.approx(stats.ttest_rel(LOSSES["lstm"], LOSSES["gru"]).pvalue)  # of two arms
    assert (rnn.p, rnn.distinguishable, rnn.words) == (None, None, "diverged in 1 of 3 seeds")
    assert (s4d.p, s4d.words) == (None, "diverged in 3 of 3 seeds")
    assert found.sentence.endswith("mixer=rnn diverged in 1 of 3 seeds; mixer=s4d diverged in 3 of 3 seeds.")
    assert set(found.warnings) == {
        "1 of the 3 runs of mixer=rnn is missing from its mean.",
        "1 of the 4 runs of mixer=gru is missing from its mean.",
    }
    shown = show(found, 200)
    assert next(line for line in shown.splitlines() if line.startswith("mixer=s4d")).split()[1:4] == [
        "-",
        "diverged",
        "in",
    ]
    data = json.loads(json.dumps(as_data(found), allow_nan=False))
    assert data["arms"][3]["quality"] is None
    write_report(found, tmp_path / "report.html", command="none")


def test_where_every_arm_diverged_there_is_no_verdict(tmp_path):
    for mixer, losses in {"gru": [1.0, math.nan, 1.2], "rnn": [2.0, 2.1, math.nan]}.items():
        for seed, loss in enumerate(losses, start=1):
            write_run(tmp_path / f"{mixer}{seed}", [f"mixer={mixer}"], loss, seed)
    found = compare([tmp_path])
    assert [verdict.words for verdict in found.verdicts] == ["diverged in 1 of 3 seeds"]
    assert (
        "mixer=gru has the lowest validation loss (1.10 (0 to 2.37), 2 seeds; it diverged in 1 of 3 seeds)"
        in found.sentence
    )
    assert "  diverged in 1 of 3 seeds" in show(found, 200)
    assert "best" not in show(found, 200).split("\n\n")[0]


def test_names_of_arms(tmp_path):
    """The overrides that not all runs share; seeds, names and loggers set no run apart."""
    folders = [
        write_run(tmp_path / "a", ["data=copy", "mixer=lstm", "+model.dim=64", "name=a"]),
        write_run(tmp_path / "b", ["data=copy", "mixer=lstm", "model.dim=32", "logger=none", "hydra/launcher=ray"]),
        write_run(tmp_path / "c", ["data=copy", "optimiser.learning_rate=0.0031622776601683794", "runs=elsewhere"]),
        write_run(tmp_path / "d", ["data=copy"]),
        write_run(tmp_path / "e", ["data=copy", "mixer=gru"], arm="the small one"),
    ]
    assert sorted(arms(compare(folders))) == [
        "defaults", "mixer=lstm, model.dim=32", "mixer=lstm, model.dim=64", "optimiser.learning_rate=0.003162",
        "the small one",
    ]  # fmt: skip


def test_numbers_in_names_are_not_rounded_to_the_same_name(tmp_path):
    rates = ["0.0031622776", "0.0031622777"]
    folders = [write_run(tmp_path / rate, [f"optimiser.learning_rate={rate}"]) for rate in rates]
    assert sorted(arms(compare(folders))) == [f"optimiser.learning_rate={rate}" for rate in rates]


def test_the_same_arm_and_seed_twice_is_two_arms(tmp_path):
    """As after a change of the code: the sweeps' folders, or the runs' own, tell the arms apart."""
    before, after = write_grid(tmp_path / "before", LOSSES), write_grid(tmp_path / "after", {"gru": [0.5, 0.6]})
    found = compare([before, after])
    assert arms(found) == ["after: mixer=gru", "before: mixer=gru", "mixer=lstm", "mixer=rnn"]
    assert [len(arm.runs) for arm in found.arms] == [2, 3, 3, 3]
    for name in ("old", "new"):
        write_run(tmp_path / "alike" / name, ["mixer=gru"])
    assert sorted(arms(compare([tmp_path / "alike"]))) == ["new", "old"]


def trial(number, phase, **facts):
    return {"trial": {"number": number, "phase": phase, "parameters": {}}, **facts}


def test_tuning_trials_are_not_compared_but_kept(tmp_path):
    for number, status in enumerate(["finished", "pruned", "failed", "running"]):
        facts = trial(number, "tuning", status=status, arm="lstm")
        write_run(tmp_path / f"{number}_tuning", [f"optimiser.learning_rate=0.{number}"], 0.01, **facts)
    for seed in (11, 12):
        write_run(tmp_path / f"{seed}_final", [], 1.0, seed, **trial(seed, "final", arm="lstm"))
    found = compare([tmp_path])
    assert [run.name for arm in found.arms for run in arm.runs] == ["11_final", "12_final"]
    assert [run.record.status for run in found.trials] == ["finished", "pruned", "failed", "running"]
    assert found.skipped == ()
    assert found.warnings == ()


def test_trials_of_a_search_are_compared_with_each_other(tmp_path):
    for number, status in enumerate(["finished", "pruned", "finished"]):
        facts = trial(number, "tuning", status=status)
        write_run(tmp_path / f"{number}_t", [f"model.dim={8 * number}"], 2.0 - number / 2, **facts)
    found = compare([tmp_path])
    assert arms(found) == ["model.dim=16", "model.dim=0"]
    assert "the tuning trials are compared" in found.warnings[0]
    assert len(found.trials) == 3


def test_runs_without_a_result_are_skipped_and_missed(tmp_path):
    """Runs that failed or diverged are often the bad ones, so their absence is told."""
    write_grid(tmp_path, LOSSES)
    write_run(tmp_path / "9", ["data=copy", "mixer=gru"], math.nan, 4)
    reason = "the loss is\n  not finite"
    write_run(tmp_path / "10", ["data=copy", "mixer=gru"], seed=5, status="failed", reason=reason)
    write_run(tmp_path / "11", ["data=copy", "mixer=gru"], seed=6, status="running")
    write_run(tmp_path / "12", ["data=copy", "mixer=conv"], seed=1, result={})
    write_run(tmp_path / "13", ["data=copy", "mixer=gru"], seed=1, status="stopped")  # run again as number 6
    write_run(tmp_path / "14", ["data=copy", "mixer=gru"], seed=7, result={"loss": 1.0})
    found = compare([tmp_path])
    assert {path.name: reason for path, reason in found.skipped} == {
        "9": "its valid/loss is nan: the training diverged",
        "10": "failed: the loss is not finite",
        "11": "still running, or killed: there is no end in its run.json",
        "12": "no result in its run.json",
        "13": "stopped",
        "14": "no valid/loss in its result, but loss",
    }
    assert set(found.warnings) == {
        "4 of the 7 runs of mixer=gru are missing from its mean.",
        "mixer=conv is not compared: none of its runs has a result.",
    }
    assert arms(found) == ["mixer=lstm", "mixer=rnn", "mixer=gru"]
    assert found.verdicts[-1].words == "diverged in 2 of 5 seeds"


def test_other_data_or_another_objective_is_warned_of(tmp_path):
    write_run(tmp_path / "a", ["data.length=6"])
    write_run(tmp_path / "b", ["data.length=9"], config={"data": {"type": "copy", "length": 9}})
    write_run(tmp_path / "c", ["objective=denoising"], config={"objective": {"type": "denoising"}})
    found = compare([tmp_path])
    assert found.warnings == (
        "data.length=6, data.length=9, objective=denoising are compared with no other arm: the arms differ in their "
        "data or objective (data.length, objective.type), so results are not comparable.",
    )
    assert not found.verdicts


def test_an_arm_of_different_configs_is_warned_of(tmp_path):
    write_run(tmp_path / "a", ["experiment=mine"], seed=1)
    write_run(tmp_path / "b", ["experiment=mine"], seed=2, config={"training": {"steps": 500}})
    (warning,) = compare([tmp_path]).warnings
    assert warning == "The runs of experiment=mine differ in more than their seeds (training.steps)."


def test_nothing_to_compare_is_one_sentence(tmp_path):
    with pytest.raises(UserError, match=r"there is nothing to compare: name the folders"):
        compare([])
    with pytest.raises(UserError, match=r"there is nothing to compare\. .*nowhere: there is no such folder"):
        compare([tmp_path / "nowhere"])
    write_run(tmp_path / "a", status="failed", reason="out of memory")
    with pytest.raises(UserError, match=r"nothing to compare\. .*a: failed: out of memory"):
        compare([tmp_path])
    write_run(tmp_path / "b", status="running")
    with pytest.raises(UserError, match=r"None of 2 folders is a finished run: "):
        compare([tmp_path])
    write_run(tmp_path / "search" / "0", status="pruned", **trial(0, "tuning"))
    with pytest.raises(UserError, match=r"nothing to compare\. .*0: pruned"):
        compare([tmp_path / "search"])


@pytest.mark.parametrize(
    ("mean", "half", "shown"),
    [
        (0.23128, 0.0042, "0.2313 ± 0.0042"), (1.0, 0.19, "1.00 ± 0.19"), (12.34, 3.0, "12.3 ± 3.0"),
        (1234.5, 120.0, "1234 ± 120"), (0.5, None, "0.5"), (0.5, 0.0, "0.5"), (1e-9, 1e-10, "1e-09 ± 1e-10"),
        (1e9, 2e8, "1e+09 ± 2e+08"),
    ],
)  # fmt: skip
def test_an_interval_is_shown_to_two_digits(mean, half, shown):
    assert with_interval(Estimate((), mean, half)) == shown


def test_a_comparison_shows_itself_as_a_short_table_at_a_prompt_and_in_a_notebook(tmp_path):
    found = compare(write_grid(tmp_path / "sweep", LOSSES))
    lines = repr(found).splitlines()
    assert [line.split()[0] for line in lines[4:7]] == arms(found)
    assert lines[2].split() == ["arm", "valid/loss", "verdict", "seeds"]
    assert all(line.split()[-1] == "3" for line in lines[4:7])
    assert lines[-1] == found.sentence
    assert found._repr_html_().count("<tr>") == 1 + len(found.arms)
    assert repr(compare([tmp_path / "sweep"])) == repr(found)


def test_what_is_shown_of_an_interval_is_possible():
    draw = random.Random(0)
    for _ in range(200):
        found = estimate([draw.choice([0.0, 1.0, draw.random()]) for _ in range(3)])
        shown = with_interval(found, draw.choice([None, 2, 4]), (0.0, 1.0))
        mean, *ends = map(float, re.findall(r"[\d.]+", shown))
        low, high = (mean - ends[0], mean + ends[0]) if "±" in shown else ends or (mean, mean)
        assert -0.011 <= low <= high <= 1.011, shown  # mean and half are rounded
    assert with_interval(estimate([1.0, 1.0, 0.2]), None, (0.0, 1.0)) == "0.7 (0 to 1)"
    assert "±" in with_interval(estimate([-0.5, 0.1, 3.0]), None, (0.0, math.inf)), "a seed is beyond what it can be"


def test_a_loss_of_classes_or_tokens_is_above_0():
    nothing, above = (-math.inf, math.inf), (0.0, math.inf)
    assert possible("test/loss", ["test/loss", "test/accuracy", "valid/loss"]) == above
    assert possible("valid/loss", ["valid/loss", "valid/mse", "test/accuracy"]) == nothing, "of a density, for example"
    two = ["valid/loss", "valid/tags/loss", "valid/tags/accuracy", "valid/number/mse"]
    assert (possible("valid/loss", two), possible("valid/tags/loss", two)) == (nothing, above)
    assert (possible("valid/tags/accuracy"), possible("valid/mine")) == ((0.0, 1.0), nothing)


def test_numbers_of_one_column_are_in_the_order_of_what_they_show():
    draw = random.Random(1)
    for _ in range(200):
        found = [estimate([draw.gauss(1, 10 ** draw.uniform(-4, 0)) for _ in range(3)]) for _ in range(4)]
        decimals = common_decimals(found)
        shown = [float(with_interval(each, decimals).split()[0]) for each in sorted(found, key=lambda each: each.mean)]
        assert shown == sorted(shown)


def test_an_end_beside_0_is_on_its_side():
    assert between(-0.0004, 0.38) == "-0.0004 to 0.3800"
    assert between(0.0004, 0.38) == "0.0004 to 0.3800"
    assert between(0.0, 0.38) == "0.00 to 0.38"


def test_a_tie_has_no_best_arm_in_any_place(tmp_path):
    losses = {"gru": [1.0, 1.2, 0.9], "lstm": [1.1, 1.1, 1.0], "rnn": [0.9, 1.3, 1.0]}
    found = compare([write_grid(tmp_path / "sweep", losses)])
    assert found.sentence.startswith("No arm is distinguishable from the others: mixer=gru has the lowest validation")
    assert found.tasks[0].ahead("valid/loss", "min") == {"mixer=gru": "lowest"}
    assert "best  " not in show(found, 160).split("\n\n")[0]
    two = compare([write_grid(tmp_path / "two", {name: losses[name] for name in ("gru", "lstm")})])
    assert two.sentence.startswith("The arms are not distinguishable: mixer=gru has the lowest validation loss")


def test_the_only_arm_of_a_sweep_has_a_short_name(tmp_path):
    settings = [f"training.key{place}={place}" for place in range(9)]
    for seed in (1, 2):
        write_run(tmp_path / "chosen" / str(seed), ["data=copy", "mixer=gru", *settings], 1.0, seed)
        write_run(tmp_path / "set" / str(seed), settings, 1.0, seed)
    assert arms(compare([tmp_path / "chosen"])) == ["data=copy, mixer=gru"]
    assert arms(compare([tmp_path / "set"])) == [
        "training.key0=0, training.key1=1, training.key2=2 and 6 more overrides"
    ]
