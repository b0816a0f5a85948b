"""A process of a distributed run that dies ends the others with one sentence, an exit code and a status."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.survival.kills import alive
from composer.runs.folder import RunFolder
from composer.runs.lock import folder_lock
from composer.training.run import processes as group
from tests.support import processes
from tests.support.paths import ROOT
from tests.training.test_distributed import BASE, MODELS

pytestmark = pytest.mark.slow


def stuck_first(path, number):
    """The first process, in a call that does not notice that rank 2 has died."""
    group.GRACE = 0.1
    folder = RunFolder(path)
    folder.update_record(status="running")
    children = [subprocess.Popen(["sleep", "100"]) for _ in range(2)]
    group.OtherProcesses(folder, children)
    (path / "pids").write_text(" ".join(str(process.pid) for process in children))
    children[1].send_signal(number)
    time.sleep(100)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_the_first_process_says_which_rank_died_of_which_signal_and_ends_the_others(tmp_path, number):
    done = processes.run(stuck_first, tmp_path, number)
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert done.code == 2
    said = (
        f"rank 2 of this run (process {pids[1]}) was ended by {number.name}. The run is saved up to its last checkpoint"
    )
    assert done.err.startswith(said)
    assert len(done.err.splitlines()) == 1
    facts = json.loads((tmp_path / "run.json").read_text())
    assert (facts["status"], facts["reason"]) == ("failed", done.err.strip())
    assert not alive(pids[0])


def stuck_second(path, first, status):
    """A process whose first process has died."""
    group.GRACE = 0.1
    folder = RunFolder(path)
    folder.update_record(status=status)
    group.OtherProcesses(folder, first=first)
    time.sleep(100)


def test_a_process_says_that_the_first_has_died_unless_another_one_has_said_it(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    done = processes.run(stuck_second, tmp_path, gone.pid, "running")
    assert done.code == 2
    assert done.err.startswith(f"rank 0 of this run (process {gone.pid}) has died without a word")
    assert json.loads((tmp_path / "run.json").read_text())["status"] == "failed"
    done = processes.run(stuck_second, tmp_path, gone.pid, "failed")
    assert (done.code, done.err) == (2, "")
    with folder_lock(tmp_path):  # another one is about to say it
        done = processes.run(stuck_second, tmp_path, gone.pid, "running")
    assert (done.code, done.err) == (2, "")


def test_a_real_run_whose_second_process_is_killed_ends_with_one_sentence(tmp_path):
    overrides = [*BASE, *MODELS["rnn"], "trainer=ddp", "trainer.devices=2", "training.steps=100000"]
    command = [sys.executable, str(ROOT / "train.py"), *overrides, f"runs={tmp_path}", "name=two"]
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    while not (tmp_path / "two" / "metrics.jsonl").exists() and program.poll() is None:
        time.sleep(0.05)
    (second,) = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
    os.kill(int(second), signal.SIGKILL)
    _, errors = program.communicate(timeout=120)
    assert program.returncode == 2
    assert errors.startswith(f"rank 1 of this run (process {second}) was ended by SIGKILL.")
    assert len(errors.splitlines()) == 1
    facts = json.loads((tmp_path / "two" / "run.json").read_text())
    assert (facts["status"], facts["reason"]) == ("failed", errors.strip())
