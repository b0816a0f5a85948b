"""A sweep, as a user runs it: every run in its folder, what fails recorded, a table at the end."""

import json
import re
import signal
import subprocess
import time

import pytest

from composer.runs.lock import folder_lock
from tests.support import processes
from tests.support.paths import ROOT
from tests.support.sweeps import facts, only, program, run

pytestmark = pytest.mark.slow

SMALL = [
    "data=copy", "data.train_size=100", "data.valid_size=10", "data.length=4", "model.dim=16", "training.steps=3",
    "training.batch=8", "training.figures=false", "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1",
]  # fmt: skip


def command(*overrides):
    return [str(ROOT / "train.py"), "-m", *SMALL, *overrides]


def swept(folder):
    """A sweep of four runs of which two fail; what the process printed is kept beside them."""
    values = ("mixer=gru,attention", "optimiser.learning_rate=0.003,1e30")
    done = processes.program(command(*values, "logger=[wandb]"), cwd=folder)
    (folder / "process.json").write_text(json.dumps([done.args, done.returncode, done.stdout, done.stderr]))


@pytest.fixture
def done(shared):
    folder = shared.folder("sweep", swept)
    return subprocess.CompletedProcess(*json.loads((folder / "process.json").read_text())), folder


def test_a_run_that_fails_is_recorded_and_the_others_go_on(done):
    process, folder = done
    assert process.returncode == 1, process.stderr
    (place,) = (folder / "runs").iterdir()
    trials = facts(place)
    assert list(trials) == [
        "0_mixer=gru,optimiser.learning_rate=0.003",
        "1_mixer=gru,optimiser.learning_rate=1e+30",
        "2_mixer=attention,optimiser.learning_rate=0.003",
        "3_mixer=attention,optimiser.learning_rate=1e+30",
    ]
    assert [known["status"] for known in trials.values()] == ["finished", "failed", "finished", "failed"]
    for name, known in trials.items():
        if known["status"] == "failed":
            assert "the loss is not finite" in known["reason"]
        else:
            assert known["group"] == place.name
            assert len(list((place / name / "wandb").glob("offline-run-*"))) == 1


def test_a_table_of_results_closes_the_sweep(done):
    process, folder = done
    (place,) = (folder / "runs").iterdir()
    rows = json.loads((place / "results.json").read_text())
    assert [row["status"] for row in rows] == ["finished", "failed", "finished", "failed"]
    table = process.stdout[process.stdout.rindex("\nrun ") :].splitlines()
    assert table[1].split()[1] == "loss"  # others only where they fit
    best, worse, *failed = (line for line in table if re.match(r"\d_mixer=", line))
    assert float(best.split()[1]) <= float(worse.split()[1])
    assert len(failed) == 2
    assert all("failed: " in line for line in failed)
    assert table[-1].startswith("sweep     ")
    assert "Traceback" not in process.stderr


def test_the_report_is_written_at_the_end(done):
    process, folder = done
    (place,) = (folder / "runs").iterdir()
    assert f"report    runs/{place.name}/report.html, to be opened in a browser" in process.stdout
    page = (place / "report.html").read_text()
    assert "has the lowest test loss" in page
    assert all(name in page for name in facts(place))  # the failed ones as skipped, with their reasons


def free(trial):
    with folder_lock(trial) as lock:
        return lock is not None


def test_the_process_groups_of_trials_on_several_devices_stop_with_the_sweep_and_go_on(tmp_path):
    devices = ["trainer=ddp", "trainer.accelerator=cpu", "trainer.devices=2"]
    arguments = ["-m", *SMALL, "seed=1", "mixer=gru", *devices, "training.steps=100", "training.log_every=1"]
    process = processes.Running(program, tmp_path, arguments)
    deadline = time.monotonic() + 200
    while not list(tmp_path.glob("runs/*/0/metrics.jsonl")):
        assert process.process.is_alive(), process.join()
        assert time.monotonic() < deadline, "no trial began"
        time.sleep(0.02)
    process.process.terminate()
    done, place = process.join(), only(tmp_path)
    assert done.code == 128 + signal.SIGTERM, done.err
    assert [known["status"] for known in facts(place).values()] == ["stopped"]
    assert free(place / "0")  # no process of the group is left

    done = run(tmp_path, "-m", f"resume=runs/{place.name}")
    assert done.code == 0, done.err
    assert {name: known["status"] for name, known in facts(place).items()} == {"0": "finished"}
