"""A killed sweep goes on by the same command: every trial is there once, with the weights of a sweep left alone."""

import os
import random
import signal
import time

import pytest

from composer.studies.sweep.search.optuna_study import JournalLock
from tests.support import processes
from tests.support.sweeps import (
    GRID,
    SEARCH,
    TINY,
    Kill,
    assert_same_search,
    assert_same_trials,
    facts,
    only,
    program,
    run,
    studied,
)  # fmt: skip

pytestmark = pytest.mark.slow

#: How often a sweep is killed at random instants. ``SWEEP_KILLS=10`` is the figure for a change of the sweeper.
KILLS = int(os.environ.get("SWEEP_KILLS", "4"))

RATES = "optimiser.learning_rate=interval(1e-3,1e-2)"

#: A process is killed before one of its first so many changes of a file: sweep.json, locks, run.json, metrics, weights.
CHANGES = 16


def killed_at_random(folder, arguments, times, changes=CHANGES):
    """Start a sweep again and again, killed at a random instant each time, then once more. Returns the last process.

    What is done stays as it is.
    """
    draw, done = random.Random(1), {}
    for kill in [*(Kill(draw.randrange(changes)) for _ in range(times)), None]:
        process = run(folder, *arguments, kill=kill)
        now = {
            path: path.read_bytes()
            for path in folder.glob("runs/*/*/run.json")
            if b'"status": "finished"' in path.read_bytes()
        }
        assert now.items() >= done.items(), "a trial that was done has been touched"
        done = now
        assert kill is None or process.code == -signal.SIGKILL, "the sweep came to its end before it was killed"
    return process


def test_a_grid_killed_at_random_instants_ends_as_if_it_had_not_been(alone, tmp_path):
    process = killed_at_random(tmp_path, GRID, KILLS)
    assert process.code == 1, process.err  # two trials failed
    assert_same_trials(only(tmp_path), alone)


def test_a_search_killed_at_random_instants_ends_as_if_it_had_not_been(shared, tmp_path):
    alone = only(shared.folder("a search left alone", lambda folder: run(folder, *SEARCH)))
    process = killed_at_random(tmp_path, SEARCH, KILLS, 2 * CHANGES)  # the study is changed as often as the folders
    assert process.code == 0, process.err
    assert_same_search(only(tmp_path), alone, "sqlite")
    assert [number for number, *_ in studied(alone, "sqlite")] == [0, 1, 2, 3, 4]
    assert "PRUNED" in {state for _, _, state, _, _ in studied(alone, "sqlite")}


def test_a_named_sweep_killed_while_its_folder_is_made_goes_on_under_its_name(tmp_path):
    arguments = ["-m", *TINY, "seed=1", "name=mine"]
    (tmp_path / "runs").mkdir()
    for change in range(1, 5):  # the hidden folder, its lock, sweep.json, the name
        assert run(tmp_path, *arguments, kill=Kill(change, "/runs")).code == -signal.SIGKILL
    done = run(tmp_path, *arguments)
    assert done.code == 0, done.err
    assert "a grid of 1 trial in runs/mine" in done.out
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["mine"]


def test_a_search_killed_while_it_gets_more_trials_goes_on_with_them(tmp_path):
    few, more = (["-m", *TINY, "name=mine", "search=random", f"search.trials={trials}", RATES] for trials in (1, 2))
    assert run(tmp_path, *few).code == 0
    for change in range(2):  # before the search is made longer, and right after
        assert run(tmp_path, *more, kill=Kill(change, "/.sweep.json")).code == -signal.SIGKILL
    done = run(tmp_path, *more)
    assert done.code == 0, done.err
    assert [known["status"] for known in facts(tmp_path / "runs" / "mine").values()] == ["finished"] * 2


def killed_with_the_journal_locked(folder):
    lock = JournalLock(folder)
    lock.acquire()
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_lock_of_a_journal_ends_with_the_process_that_held_it(tmp_path):
    assert processes.run(killed_with_the_journal_locked, tmp_path).code == -signal.SIGKILL
    lock = JournalLock(tmp_path)
    assert lock.acquire()  # at once
    lock.release()


def test_a_sweep_that_is_told_to_stop_saves_and_says_how_to_go_on(alone, tmp_path):
    process = run(tmp_path, *GRID, kill=Kill(2, "2_seed=2,optimiser.learning_rate=0.003/metrics", signal.SIGTERM))
    sweep = only(tmp_path)
    assert process.code == 128 + signal.SIGTERM, process.err
    assert f"python train.py -m resume=runs/{sweep.name}" in process.out
    assert [known["status"] for known in facts(sweep).values()] == ["finished", "failed", "stopped"]

    process = run(tmp_path, "-m", f"resume=runs/{sweep.name}")
    assert process.code == 1, process.err
    assert_same_trials(sweep, alone)


def test_two_processes_share_the_trials_of_a_sweep(tmp_path):
    arguments = ["-m", *TINY, "seed=1,2,3,4", "name=shared"]
    first = processes.Running(program, tmp_path, arguments)
    deadline = time.monotonic() + 200
    while not (tmp_path / "runs" / "shared" / "0_seed=1" / "metrics.jsonl").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    second = run(tmp_path, "-m", "resume=runs/shared")
    assert (first.join().code, second.code) == (0, 0)
    sweep = tmp_path / "runs" / "shared"
    assert [known["status"] for known in facts(sweep).values()] == ["finished"] * 4
    for trial in facts(sweep):
        starts = (sweep / trial / "log.txt").read_text().count("run       ")
        assert starts == 1, f"{trial} was trained {starts} times"
