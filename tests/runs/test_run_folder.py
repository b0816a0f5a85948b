"""A run's folder is whole from its first instant, has one writer at a time, and says what a full disk cost."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from composer.config.composition import compose
from composer.core.problems import UserError
from composer.runs import checkpoint
from composer.runs.folder import RunFolder, read_metrics
from composer.runs.lock import LOCK, folder_lock, holder, inherited, pass_on
from composer.runs.resume import only_writer
from composer.runs.staging import STAGING, create_run_folder
from composer.training.optimisation.schedules import bind_schedule
from composer.training.run.train import extension, train
from tests.support import processes
from tests.support.paths import ROOT
from tests.training.test_faults import SHALLOW, failed, full

# One writer


def holding(folder, ready):
    with folder_lock(folder):
        ready.touch()
        time.sleep(100)


@pytest.mark.slow
def test_a_second_writer_is_refused_with_the_process_and_host_of_the_first(tmp_path):
    first = processes.Running(holding, tmp_path / "run", tmp_path / "ready")
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    said = rf"is being trained by process {first.process.pid} on {os.uname().nodename}\. Wait for its end"
    with pytest.raises(UserError, match=said), only_writer(RunFolder(tmp_path / "run")):
        pass
    first.process.kill()
    first.join()
    with only_writer(RunFolder(tmp_path / "run")):  # the system has released the lock
        assert holder(tmp_path / "run") == f"process {os.getpid()} on {os.uname().nodename}"


def test_a_started_process_shares_the_lock_of_the_one_that_started_it(tmp_path):
    code = (
        f"from composer.runs.lock import inherited; from pathlib import Path; print(inherited(Path({str(tmp_path)!r})))"
    )
    with folder_lock(tmp_path) as lock:
        for passed, wanted in (([lock.fileno()], "True\n"), ([], "False\n")):
            command = [sys.executable, "-c", code]
            environment = os.environ | pass_on(lock)
            found = subprocess.run(
                command, pass_fds=passed, env=environment, capture_output=True, text=True, check=True
            )
            assert found.stdout == wanted
    assert not inherited(tmp_path)


@pytest.mark.slow
def test_two_programs_cannot_train_one_run(shared, tmp_path):
    shared.copy(shared.run(processes.train_well, SHALLOW), tmp_path)
    with folder_lock(tmp_path / "run"):
        done = processes.run(processes.train, [f"resume={tmp_path / 'run'}", "training.steps=30"])
    failed(done, f"is being trained by process {os.getpid()} on ")
    assert checkpoint.load(tmp_path / "run" / "checkpoints" / "last.pt")["step"] == 12


def test_a_file_system_without_locks_is_said_and_a_run_goes_on(tmp_path, monkeypatch, capsys):
    def none(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("fcntl.flock", none)
    with only_writer(RunFolder(tmp_path)):
        assert "Nothing keeps a second process from training this run" in capsys.readouterr().err
    with pytest.raises(UserError, match="A sweep needs a file system with locks"), folder_lock(tmp_path):
        pass
    folder, lock = create_run_folder(tmp_path, "run", lambda folder: None)
    lock.close()
    assert folder.path.is_dir()


# New folders


def dying(runs, name):
    def fill(folder):
        (folder.path / "config.yaml").write_text("{}")
        os.kill(os.getpid(), signal.SIGKILL)

    create_run_folder(runs, name, fill)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run", None])
def test_a_process_killed_while_it_makes_its_folder_leaves_nothing_that_the_next_one_keeps(tmp_path, name):
    assert processes.run(dying, tmp_path, name).code == -signal.SIGKILL
    assert [path.name.startswith(STAGING) for path in tmp_path.iterdir()] == [True]
    folder, lock = create_run_folder(tmp_path, name, lambda folder: (folder.path / "config.yaml").write_text("{}"))
    assert [path.name for path in tmp_path.iterdir()] == [folder.path.name]
    assert sorted(path.name for path in folder.path.iterdir()) == [LOCK, "checkpoints", "config.yaml", "figures"]
    with folder_lock(folder.path) as second:
        assert second is None, "the lock is not kept through the renaming"
    lock.close()


def test_a_folder_that_another_process_fills_is_not_removed(tmp_path):
    def fill(_):
        other, lock = create_run_folder(tmp_path, "other", lambda folder: None)
        lock.close()
        assert other.path.is_dir()

    folder, lock = create_run_folder(tmp_path, "run", fill)
    lock.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "run"]
    assert folder.path.is_dir()


def test_a_name_that_is_taken_in_the_meantime_is_refused(tmp_path):
    def fill(_):
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "thesis.tex").write_text("years of work")

    with pytest.raises(UserError, match="Choose another name"):
        create_run_folder(tmp_path, "run", fill)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert (tmp_path / "run" / "thesis.tex").read_text() == "years of work"


def test_a_folder_that_cannot_be_filled_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError):
        create_run_folder(tmp_path, "run", lambda folder: 1 / 0)
    assert not list(tmp_path.iterdir())


# A full disk


def test_a_disk_without_room_for_the_status_of_a_run_begins_none(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("composer.runs.staging.reserve", full)
    with pytest.raises(UserError, match=r"cannot write '.*': No space left on device\. Make room"):
        create_run_folder(tmp_path, "run", lambda folder: None)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("limit", [200, 3000, 9000, 60_000])
def test_a_full_disk_is_one_sentence_and_a_status_at_any_size(tmp_path, limit):
    done = processes.run(full, [*SHALLOW, "logger=csv", f"runs={tmp_path}", "name=run"], limit)
    failed(done, "cannot write '", "File too large")
    assert len(done.err.strip().splitlines()) == 1
    if (tmp_path / "run").exists():
        facts = json.loads((tmp_path / "run" / "run.json").read_text())
        assert facts["status"] == "failed"
        assert "File too large" in facts["reason"]
    else:
        assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_logger_that_cannot_open_is_the_reason_of_a_failed_run(shared, tmp_path):
    shared.copy(shared.run(processes.train_well, SHALLOW), tmp_path)
    (tmp_path / "run" / "metrics.csv").write_text("of another program\nand another line\n")
    done = failed(processes.run(processes.train, [f"resume={tmp_path / 'run'}", "training.steps=30"]), "metrics.csv:2")
    facts = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (facts["status"], facts["reason"]) == ("failed", done.err.strip())


# Longer runs


@pytest.mark.parametrize(
    ("schedule", "steps", "words"),
    [
        ("cosine", 600, "from step 300 on, the schedule is that of a run of 600 steps instead of 300"),
        ("linear", 400, "the learning rate goes on at 0.278 of its peak instead of 0."),
        ("cosine", 300, None),
        ("constant", 600, None),
    ],
)
def test_a_run_that_is_extended_says_what_its_learning_rate_does(schedule, steps, words):
    from composer.training.run.plan import prepare

    plan = prepare(compose(["data=copy", f"schedule={schedule}", f"training.steps={steps}", "logger=none"]))
    saved = {"step": 300, "config": {"training": {"steps": 300, "epochs": None}}}
    said = extension(replace(plan, saved=saved))
    assert not said if words is None else words in said[0]
    assert extension(plan) == []


@pytest.mark.slow
def test_an_extended_run_follows_the_schedule_of_its_new_length(tmp_path, capsys):
    folder = RunFolder(tmp_path / "run")
    shutil.copytree(ROOT / "tests" / "fixtures" / "run_of_format_2", folder.path)
    config = checkpoint.load(folder.last)["config"]
    assert (config["training"]["steps"], config["schedule"]["type"]) == (40, "cosine")
    train(compose([f"resume={folder.path}", "training.steps=50", "training.log_every=1"]), brief=True)
    assert "from step 40 on, the schedule is that of a run of 50 steps instead of 40" in capsys.readouterr().out
    rates = {row["step"]: row["learning_rate"] for row in read_metrics(folder.metrics) if "learning_rate" in row}
    schedule = bind_schedule(config["schedule"])(50)
    for step in range(41, 51):
        assert rates[step] == pytest.approx(schedule.factor(step - 1) * config["optimiser"]["learning_rate"])
