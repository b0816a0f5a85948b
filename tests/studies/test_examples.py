"""The verdict on the test split, and what the single test examples add: another test set, quality by length."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from composer.config.composition import compose
from composer.runs.folder import RunFolder
from composer.studies.comparison import compare
from composer.studies.findings.compared_tasks import Task
from composer.studies.findings.over_examples import over_examples
from composer.studies.findings.verdicts import verdicts_of
from composer.studies.records.arms import Arm
from composer.studies.terminal import as_data, show
from composer.training.run import example_records
from composer.training.run import final_test as final
from composer.training.run import train as job
from composer.training.run.example_records import GROUPS, ExampleRecord, length_groups, read_record
from tests.support.runs import write_grid, write_run
from tests.support.tested_runs import evaluation, write_examples, write_tested

SMALL = [
    "data=reverse", "data.symbols=4", "data.train_size=200", "data.valid_size=60", "data.length=20", "model.dim=8",
    "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1", "training.batch=16", "training.steps=4",
    "training.validate_every=4", "logger=none", "training.figures=false", "mixer=gru",
]  # fmt: skip


def trained(folder, name, *more):
    return job.train(compose([*SMALL, f"runs={folder}", f"name={name}", *more])).folder.path


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two arms, two seeds each, trained for four steps."""
    folder = tmp_path_factory.mktemp("runs")
    for mixer in ("gru", "identity"):
        for seed in (1, 2):
            trained(folder, f"{mixer}{seed}", f"mixer={mixer}", f"seed={seed}")
    return folder


def drawn(examples):
    """The resamples of so many examples, (R, N), as row numbers."""
    return torch.randint(examples, (1000, examples), generator=torch.Generator().manual_seed(0)).numpy()


def resampled(run):
    """The loss of a run in the resamples of its test examples, from the statistics of the examples alone."""
    statistics = np.load(run / "test_examples.npz")["statistics/loss"].astype(float)
    sums = statistics[drawn(len(statistics))].sum(1)
    return sums[:, 0] / sums[:, 1]


@pytest.mark.slow
def test_the_records_of_single_examples_give_the_metrics_of_all(runs):
    facts = json.loads((runs / "gru1" / "run.json").read_text())
    with np.load(runs / "gru1" / "test_examples.npz") as kept:
        assert kept["row"].tolist() == list(range(60))
        assert kept["trained"].tolist() == [1, 20]
        for name in ("loss", "exact"):
            statistics = kept[f"statistics/{name}"].astype(float)
            total, count = statistics.sum(0)
            assert total / count == pytest.approx(facts["test"][name]["value"], rel=1e-6)
            for (low, high, examples), value in zip(kept["bins"], kept[f"by_length/{name}"], strict=True):
                within = (kept["length"] >= low) & (kept["length"] <= high)
                assert within.sum() == examples
                assert value == pytest.approx(np.divide(*statistics[within].sum(0)), rel=1e-6)
        assert kept["bins"][:, 2].sum() == 60
        losses = resampled(runs / "gru1")
        assert kept["resampled/loss"] == pytest.approx(losses, rel=1e-6)
        assert kept["resampled/perplexity"] == pytest.approx(np.exp(losses), rel=1e-6)  # no mean of examples
        low, high = np.percentile(losses, [2.5, 97.5])
        found = facts["test"]["loss"]
        assert (found["low"], found["high"]) == pytest.approx((low, high), abs=0.1 * (high - low))


@pytest.mark.slow
def test_a_difference_over_examples_is_that_of_a_paired_bootstrap(runs):
    found = compare([runs])
    assert found.judged == "test/loss"
    (other,) = found.over_examples.values()
    best, worse = ([run.folder for run in arm.runs] for arm in found.arms)
    apart = np.mean([resampled(a) - resampled(b) for a, b in zip(worse, best, strict=True)], axis=0)
    assert other.interval == pytest.approx(tuple(np.percentile(apart, [2.5, 97.5])), rel=1e-4)
    assert other.difference == pytest.approx(found.verdicts[0].difference.mean)
    alone = np.mean([resampled(a) for a in worse], axis=0)
    assert np.ptp(other.interval) < np.ptp(np.percentile(alone, [2.5, 97.5]))  # the same examples are hard for both


@pytest.mark.slow
def test_a_killed_run_writes_the_same_records_and_so_does_one_of_other_batches(runs, tmp_path, monkeypatch):
    wanted = runs / "gru1" / "test_examples.npz"

    def killed(*arguments, **options):
        real(*arguments, **options)
        raise KeyboardInterrupt  # between test_examples.npz and run.json

    real = final.write_records
    with monkeypatch.context() as patch:
        patch.setattr(final, "write_records", killed)
        with pytest.raises(KeyboardInterrupt):
            trained(tmp_path, "killed", "seed=1")
    (tmp_path / "killed" / "test_examples.npz").write_bytes(b"torn")
    job.train(compose([f"resume={tmp_path}/killed"]))
    assert (tmp_path / "killed" / "test_examples.npz").read_bytes() == wanted.read_bytes()
    (tmp_path / "killed" / "test_examples.npz").unlink()
    RunFolder(tmp_path / "killed").update_record(status="running")  # killed once more
    job.train(compose([f"resume={tmp_path}/killed"]))
    assert (tmp_path / "killed" / "test_examples.npz").read_bytes() == wanted.read_bytes()
    batches = final.drawn_batches
    monkeypatch.setattr(final, "drawn_batches", lambda *place, **options: batches(*place, **(options | {"batch": 7})))
    trained(tmp_path, "other", "seed=1")
    one, other = (read_record(path, "loss") for path in (wanted, tmp_path / "other" / "test_examples.npz"))
    assert (one.identity, one.draws) == (other.identity, other.draws)
    assert other.resampled == pytest.approx(one.resampled, rel=1e-5)


def test_arms_are_judged_on_the_test_split_which_may_order_them_otherwise(tmp_path):
    for arm, valid, test in (("a", 1.0, 2.0), ("b", 1.5, 1.0)):
        for seed in (1, 2, 3):
            write_tested(tmp_path / f"{arm}{seed}", arm, seed, [test + seed / 10] * 4, valid=valid + seed / 10)
    found = compare([tmp_path])
    assert (found.judged, found.validated) == ("test/loss", "valid/loss")
    assert [arm.name for arm in found.arms] == ["b", "a"]
    assert found.sentence.startswith("b has the lowest test loss (")
    assert found.methods.startswith("Judged on the test split, which was read once, at the end; the validation split")
    assert show(found, 160).split()[:3] == ["arm", "test/loss", "valid/loss"]
    assert compare([tmp_path], "loss").judged == "test/loss"
    asked = compare([tmp_path], "valid/loss")
    assert (asked.judged, [arm.name for arm in asked.arms], asked.over_examples) == ("valid/loss", ["a", "b"], {})
    assert "Judged on the validation split, which also chose the checkpoints." in asked.methods


def test_a_run_without_a_test_result_leaves_the_verdict_to_the_validation_split(tmp_path):
    for seed in (1, 2):
        write_tested(tmp_path / f"a{seed}", "a", seed, [1.0, 2.0])
    write_run(tmp_path / "b1", ["mixer=b"], 0.5, 1, arm="b")
    nothing = {"value": None, "low": None, "high": None}
    write_run(tmp_path / "b2", ["mixer=b"], 0.6, 2, arm="b", test={"loss": nothing})
    found = compare([tmp_path])
    assert found.judged == "valid/loss"
    assert found.warnings == (
        "2 of 4 runs have no test/loss (b1, b2), so the arms are judged on the validation split, which chose their "
        "checkpoints.",
    )
    assert compare([write_grid(tmp_path / "old", {"gru": [1.0, 2.0]})]).warnings == ()


def test_what_tuning_chose_is_named_and_its_trials_are_judged_by_validation(tmp_path):
    trial = {"number": 0, "phase": "tuning", "parameters": {"optimiser.learning_rate": 0.1}}
    write_run(tmp_path / "0", [], 3.0, arm="a", trial=trial)
    alone = compare([tmp_path])
    assert alone.judged == "valid/loss"
    write_tested(tmp_path / "1", "a", 1, [1.0, 2.0])
    assert "the validation split chose the checkpoints and learning_rate." in compare([tmp_path]).methods


def test_runs_without_records_or_with_other_examples_have_no_interval_and_the_reason(tmp_path):
    losses = [1.0, 2.0, 4.0]
    for seed in (1, 2):
        write_tested(tmp_path / f"a{seed}", "a", seed, losses)
        write_tested(tmp_path / f"b{seed}", "b", seed, [1.5, 2.0, 4.0], content="other data")
        write_tested(tmp_path / f"c{seed}", "c", seed, [3.0, 3.0, 3.0])
        write_tested(tmp_path / f"d{seed}", "d", seed, [5.0, 3.0, 3.0])
        write_tested(tmp_path / f"e{seed}", "e", seed, [5.0, 3.0])
    (tmp_path / "c2" / "test_examples.npz").unlink()
    (tmp_path / "d1" / "test_examples.npz").write_bytes((tmp_path / "d1" / "test_examples.npz").read_bytes()[:900])
    found = compare([tmp_path])
    assert all(each.interval is None for each in found.over_examples.values())
    missing = {name: each.missing for name, each in found.over_examples.items()}
    assert missing["b"] == "b and a had other test examples"
    assert missing["e"] == "e and a had other test examples"
    assert missing["c"] == "c2 kept no record of its test examples"
    assert "cannot be read" in missing["d"]
    assert "No interval over examples: b and a had other test examples, " in found.methods
    told = {verdict["arm"]: verdict["over_examples"] for verdict in as_data(found)["verdicts"]}
    assert told["b"] == {"difference": pytest.approx(1 / 6), "interval": None, "missing": missing["b"]}


def test_a_difference_that_another_test_set_might_not_show_is_said(tmp_path):
    """Every seed finds the same small difference, on a few examples that differ more among themselves."""
    draw = np.random.default_rng(0)
    hard = draw.normal(size=20)
    for seed in (1, 2, 3):
        same = 5 + draw.normal(size=20) * 0.01
        write_tested(tmp_path / f"a{seed}", "a", seed, same)
        write_tested(tmp_path / f"b{seed}", "b", seed, same + 0.1 + hard - hard.mean() + draw.normal(size=20) * 0.01)
        write_tested(tmp_path / f"c{seed}", "c", seed, same + 0.2 + draw.normal(size=20) * 0.01)
    found = compare([tmp_path])
    assert [verdict.distinguishable for verdict in found.verdicts] == [True, True]
    assert found.over_examples["b"].includes_zero
    assert not found.over_examples["c"].includes_zero
    assert found.sentence.endswith(
        "all others are worse. The difference of b from a is beyond chance over seeds, but not over examples: another "
        "test set might not show it."
    )
    assert "c 0.19" in " ".join(show(found, 120).split())


def solving(name, wrong):
    """An arm of one run, with an error of 0 or 1 for every test example."""
    found = evaluation(torch.as_tensor(wrong, dtype=torch.float64))
    nothing = np.zeros(0)
    record = ExampleRecord("the data", "", found.resampled["loss"].numpy(), nothing, nothing, nothing)
    run = SimpleNamespace(name=name, seed=1, result={"test/loss": found.values["loss"]}, examples=lambda _: record)
    return Arm(name, (run,), ())


def test_intervals_over_examples_cover_the_true_difference():
    """Examples of which one model solves 60 % and the other 70 %, of the same ones more often than by chance."""
    draw = np.random.default_rng(1)
    covered, studies = 0, 400
    for _ in range(studies):
        hard = draw.random(150)
        wrong = [np.where(draw.random(150) < 0.5, hard, draw.random(150)) > solved for solved in (0.7, 0.6)]
        arms = [solving(name, each) for name, each in zip("ab", wrong, strict=True)]
        low, high = over_examples(Task("", tuple(arms), verdicts_of(arms, "test/loss")), "test/loss")["b"].interval
        covered += low <= 0.1 <= high
    assert abs(covered / studies - 0.95) < 3 * math.sqrt(0.95 * 0.05 / studies)


def test_quality_by_length_is_a_mean_over_seeds(tmp_path):
    lengths = [2, 2, 5, 5, 9]
    for seed, shift in ((1, 0.0), (2, 0.2)):
        write_tested(tmp_path / f"a{seed}", "a", seed, [1 + shift, 3 + shift, 5, 5, 7], lengths=lengths, trained=(2, 5))
        write_tested(tmp_path / f"b{seed}", "b", seed, [9.0] * 5)  # of one length
    found = compare([tmp_path])
    (curve,) = found.by_length
    assert (curve.arm, curve.trained) == ("a", (2, 5))
    assert [(point.low, point.high, point.examples) for point in curve.points] == [(2, 2, 2), (5, 5, 2), (9, 9, 1)]
    assert [point.quality.mean for point in curve.points] == pytest.approx([2.1, 5, 7])
    assert curve.points[0].quality.values == pytest.approx((2.0, 2.2))
    (told,) = as_data(found)["by_length"]
    assert json.loads(json.dumps(told)) == told
    assert told["points"][0]["examples"] == 2


@given(st.lists(st.integers(1, 300), min_size=1, max_size=400))
def test_groups_of_lengths_hold_every_length_once_and_about_equally_many_examples(lengths):
    groups = length_groups(torch.tensor(lengths))
    if len(set(lengths)) == 1:
        assert groups == []
        return
    assert len(groups) <= GROUPS
    assert [sum(low <= length <= high for low, high in groups) for length in lengths] == [1] * len(lengths)
    assert groups == sorted(groups)
    commonest = max(map(lengths.count, lengths))
    counts = [sum(low <= length <= high for length in lengths) for low, high in groups]
    if len(set(lengths)) > GROUPS:
        assert max(counts) <= len(lengths) / GROUPS + commonest


def test_of_many_examples_the_same_random_ones_are_kept(tmp_path, monkeypatch):
    kept_at_most, size = 1000, 3000
    monkeypatch.setattr(example_records, "KEPT", kept_at_most)
    write_examples(tmp_path / "examples.npz", torch.arange(size, dtype=torch.float64), lengths=torch.arange(size) % 7)
    with np.load(tmp_path / "examples.npz") as kept:
        assert kept["statistics/loss"].shape == (kept_at_most, 2)
        assert kept["statistics/loss"][:, 0].tolist() == kept["row"].tolist()
        assert kept["row"].mean() == pytest.approx(size / 2, rel=0.05)
        assert kept["bins"][:, 2].sum() == size
