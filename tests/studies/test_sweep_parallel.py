"""The launcher ``parallel``: the trials of a sweep in processes of their own, as a user starts and stops them."""

import os
import signal
import subprocess
import sys
import time

import pytest

from composer.runs.lock import folder_lock
from composer.studies.sweep.launchers.local_processes import environments
from tests.support import processes
from tests.support.paths import ROOT
from tests.support.sweeps import GRID, assert_same_trials, facts, only, program

PARALLEL = ["hydra/launcher=parallel", "hydra.launcher.jobs=2"]


def start(folder, *arguments):
    return processes.Running(program, folder, arguments)


def wait_for(condition, seconds=200):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened"
        time.sleep(0.02)


def free(trial):
    with folder_lock(trial) as lock:
        return lock is not None


@pytest.mark.slow
def test_parallel_trials_that_are_killed_with_their_sweep_end_and_the_sweep_goes_on(alone, tmp_path):
    process = start(tmp_path, *GRID, *PARALLEL)
    wait_for(lambda: list(tmp_path.glob("runs/*/*/metrics.jsonl")))
    process.process.kill()
    process.join()
    wait_for(lambda: all(free(path.parent) for path in tmp_path.glob("runs/*/*/run.json")))  # saved, and ended

    done = start(tmp_path, *GRID, *PARALLEL).join()
    assert done.code == 1, done.err  # two trials failed
    assert "goes on with the unfinished sweep" in done.out
    assert done.err == ""
    assert_same_trials(only(tmp_path), alone)


@pytest.mark.slow
def test_parallel_trials_are_saved_when_the_sweep_is_told_to_stop(tmp_path):
    """A real program, no fork: its processes have to find its job again."""
    seeds = ["-m", *GRID[1:-2], "seed=1,2,3", "training.steps=100000", "training.checkpoint_every=100000"]
    command = [sys.executable, str(ROOT / "train.py"), *seeds, *PARALLEL]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: len(list(tmp_path.glob("runs/*/*/metrics.jsonl"))) == 2)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 128 + signal.SIGTERM, err
    sweep = only(tmp_path)
    assert [known["status"] for known in facts(sweep).values()] == ["stopped", "stopped"]
    assert len(list(sweep.glob("*/checkpoints/last.safetensors"))) == 2
    assert f"python train.py -m resume=runs/{sweep.name} hydra/launcher=parallel hydra.launcher.jobs=2" in out


def test_as_many_processes_as_the_cores_have_threads_for(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert len(environments(None, 1, None)) == 8
    assert len(environments(None, 3, None)) == 2
    assert len(environments(None, 16, None)) == 1
    assert [each["OMP_NUM_THREADS"] for each in environments(2, 4, None)] == ["4", "4"]


def test_processes_take_gpus_in_turn():
    found = [each["CUDA_VISIBLE_DEVICES"] for each in environments(None, 1, [0, 2])]
    assert found == ["0", "2"]
    assert [each["CUDA_VISIBLE_DEVICES"] for each in environments(4, 1, [0, 2])] == ["0", "2", "0", "2"]
