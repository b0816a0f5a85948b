"""Runs are found and read; what is not a run is skipped with its reason."""

import json
import shutil

import pytest

from composer.config.composition import compose
from composer.studies.records.arms import COSTS
from composer.studies.records.run_records import read_runs
from composer.training.run.train import train
from tests.support.paths import ROOT
from tests.support.runs import write_grid, write_run
from tests.support.trained import FAMILIES, SMALL


def names(paths):
    return [record.name for record in read_runs(paths)[0]]


def recorded_costs(run):
    return {cost.key: value for cost in COSTS if (value := cost.read(run)) is not None}


def test_a_record_holds_the_facts_of_its_run(tmp_path):
    folder = write_run(tmp_path / "run", ["mixer=lstm"], 0.5, 3, arm="lstm", budget={"kind": "parameters"}, lines=4)
    (record,), skipped = read_runs([folder])
    assert not skipped
    assert (record.name, record.arm, record.seed) == ("run", "lstm", 3)
    assert (record.record.phase, record.record.status) == (None, "finished")
    assert record.result["valid/loss"] == 0.5
    assert recorded_costs(record) == {
        "parameters": 12_345, "flops_per_token": 24_000.0, "seconds": 2.5, "tokens_per_second": 2_000.0,
        "peak_memory": 400_000_000,
    }  # fmt: skip
    assert record.record.budget == {"kind": "parameters"}
    assert record.config["data"]["type"] == "copy"
    assert [line["step"] for line in record.metrics()] == [1, 2, 3, 4]
    assert [line["step"] for line in record.samples()] == [100]  # of the best checkpoint


def test_a_run_that_was_trained_is_read_whole(shared):
    overrides = [*SMALL, *FAMILIES["copy"]]  # the run that tests of inference read
    folder = shared.run(lambda overrides: train(compose(overrides)), overrides, "copy")
    (record,), _ = read_runs([folder])
    numbers = recorded_costs(record)
    assert numbers.keys() == {cost.key for cost in COSTS}
    assert all(number > 0 for number in numbers.values())
    assert (record.record.status, record.seed, record.arm, record.record.budget) == ("finished", 1, "", None)
    assert record.metrics()[-1]["valid/loss"] == record.result["valid/loss"]
    assert record.samples()


def test_a_run_of_an_older_version_is_read_without_the_newer_facts():
    (record,), skipped = read_runs([ROOT / "tests" / "fixtures" / "run_of_format_2"])
    assert not skipped
    assert record.result["valid/loss"] == pytest.approx(1.829, abs=1e-3)
    assert (record.seed, recorded_costs(record)) == (1, {})


def test_runs_are_found_three_levels_below_and_numbered_runs_in_order(tmp_path):
    for number in (10, 2, 0):
        write_run(tmp_path / "a" / "sweep" / f"{number}_x")
    write_run(tmp_path / "a" / "b" / "c" / "too_deep")
    assert names([tmp_path / "a"]) == ["too_deep", "0_x", "2_x", "10_x"]
    assert names([tmp_path]) == ["0_x", "2_x", "10_x"]
    assert names([tmp_path / "a" / "sweep" / "2_x"]) == ["2_x"]


def test_a_run_named_twice_or_copied_is_one_run(tmp_path):
    run = write_run(tmp_path / "sweep" / "run")
    assert names([run, tmp_path / "sweep", run]) == ["run"]
    copied = shutil.copytree(run, tmp_path / "copy")
    records, skipped = read_runs([run, copied])
    assert [record.name for record in records] == ["run"]
    assert skipped == [(copied, f"the same run as {run}")]


BROKEN = {
    "not JSON": ("its run.json is not JSON", lambda run: (run / "run.json").write_text('{"status": "fin')),
    "not UTF-8": ("its run.json is not JSON", lambda run: (run / "run.json").write_bytes(b"\xff\xfe\x00")),
    "a list": ("it holds no mapping", lambda run: (run / "run.json").write_text("[1]")),
    "another program's": ("it has no status", lambda run: (run / "run.json").write_text('{"scripts": {}}')),
    "a folder": ("cannot be read", lambda run: ((run / "run.json").unlink(), (run / "run.json").mkdir())),
    "none": ("no run.json in it", lambda run: (run / "run.json").unlink()),
    "a config that is not YAML": ("config.yaml cannot be read", lambda run: (run / "config.yaml").write_text("a: [1")),
    "a config that is text": ("config.yaml is not a mapping", lambda run: (run / "config.yaml").write_text("hello")),
    "empty": ("no run.json in it", lambda run: (shutil.rmtree(run), run.mkdir())),
    "a file": ("a file, not the folder of a run", lambda run: (shutil.rmtree(run), run.write_text(""))),
}


@pytest.mark.parametrize(("reason", "damage"), BROKEN.values(), ids=BROKEN)
def test_a_broken_folder_is_skipped_with_the_reason(tmp_path, reason, damage):
    good, bad = write_run(tmp_path / "good"), write_run(tmp_path / "bad")
    damage(bad)
    records, ((path, said),) = read_runs([good, bad])
    assert [record.name for record in records] == ["good"]
    assert path == bad
    assert reason in said


@pytest.mark.parametrize(
    "odd",
    [{"size": [1]}, {"last": "x"}, {"trial": 3}, {"seed": "x"}, {"overrides": 4}],
)
def test_a_run_with_a_fact_of_a_wrong_kind_is_skipped_with_the_fact(tmp_path, odd):
    folder = write_run(tmp_path / "run")
    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(facts | odd))
    records, ((path, reason),) = read_runs([folder])
    assert (records, path) == ([], folder)
    assert reason.startswith(f"its run.json cannot be read: '{next(iter(odd))}")


def test_a_foreign_folder_is_named_once_and_hidden_ones_not_at_all(tmp_path):
    write_grid(tmp_path / "sweep", {"gru": [1.0]})
    (tmp_path / "notes" / "old" / "figures").mkdir(parents=True)
    (tmp_path / "sweep" / ".submitit").mkdir()
    records, skipped = read_runs([tmp_path])
    assert len(records) == 1
    assert skipped == [(tmp_path / "notes", "no run.json in it")]


def test_a_mistyped_path_is_named_with_its_neighbour(tmp_path):
    write_run(tmp_path / "lstm")
    ((path, reason),) = read_runs([tmp_path / "lstn"])[1]
    assert path == tmp_path / "lstn"
    assert reason == "there is no such folder. Did you mean 'lstm'?"
