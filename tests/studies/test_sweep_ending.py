"""A sweep killed at any step of its ending goes on by the same command: nothing is trained again or missing."""

import json
import os
import signal

import pytest

from composer.studies.sweep import sweep_results
from tests.support import processes
from tests.support.sweeps import TINY, only, program, run

pytestmark = pytest.mark.slow

SHORT = [*TINY, "training.steps=2"]

STUDY = """# @package _global_
study:
  arms: {narrow: [], wide: [model.dim=16]}
  seeds: [1]
"""

#: A sweep of every kind, with a name and without.
SWEEPS = {
    "a grid": [*SHORT, "seed=1,2"],
    "a named grid": [*SHORT, "seed=1,2", "name=mine"],
    "a search": [*SHORT, "search=random", "search.trials=2", "optimiser.learning_rate=interval(1e-3,1e-2)"],
    "a named study": [
        "--config-dir",
        "mine",
        *[word for word in SHORT if not word.startswith("model.dim=")],
        "study=two",
        "name=mine",
    ],
}


def killed_before(step, folder, arguments):
    """The sweep's program, which kills itself before a step of the ending."""

    def kill(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    sweep_results.STEPS = (*sweep_results.STEPS[:step], kill)
    program(folder, arguments)


def trained(sweep):
    """The files of all trials."""
    return {path: path.read_bytes() for path in sweep.glob("*/**/*") if path.is_file() and path.name != ".lock"}


@pytest.mark.parametrize("kind", SWEEPS)
def test_killed_before_any_step_of_its_ending_a_sweep_goes_on_with_the_ending_alone(tmp_path, kind):
    (tmp_path / "mine" / "study").mkdir(parents=True)
    (tmp_path / "mine" / "study" / "two.yaml").write_text(STUDY)
    arguments, trials = ["-m", *SWEEPS[kind]], None
    for step in range(len(sweep_results.STEPS)):
        killed = processes.run(killed_before, step, tmp_path, arguments)
        assert killed.code == -signal.SIGKILL, killed.err
        sweep = only(tmp_path)
        trials = trials or trained(sweep)
    done = run(tmp_path, *arguments)
    assert done.code == 0, done.err
    assert only(tmp_path) == sweep, "the same command has begun another sweep"
    assert trained(sweep) == trials, "a trial has been touched"
    assert json.loads((sweep / "sweep.json").read_text())["status"] == "finished"
    assert [row["status"] for row in json.loads((sweep / "results.json").read_text())] == ["finished"] * 2
    assert (sweep / "report.html").is_file()
