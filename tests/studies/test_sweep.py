"""A sweep, as a user runs it: every run in its folder, what fails recorded, a table at the end."""

import json
import subprocess
import sys

import pytest

from tests.support import processes
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

SMALL = [
    "data=copy", "data.train_size=100", "data.valid_size=10", "data.length=4", "model.dim=16", "training.steps=3",
    "training.batch=8", "training.figures=false", "model.nodes.encoder.depth=1", "model.nodes.decoder.depth=1",
]  # fmt: skip


def command(*overrides):
    return [str(ROOT / "train.py"), "-m", *SMALL, *overrides]


def swept(folder):
    """A sweep of four runs of which two fail; what the process printed is kept beside them."""
    mixers = ("mixer=gru,attention", "mixer@model.nodes.decoder.mixer=gru,fourier")
    done = processes.program(command(*mixers, "logger=[wandb]"), cwd=folder)
    (folder / "process.json").write_text(json.dumps([done.args, done.returncode, done.stdout, done.stderr]))


@pytest.fixture
def done(shared):
    folder = shared.folder("sweep", swept)
    return subprocess.CompletedProcess(*json.loads((folder / "process.json").read_text())), folder


def test_a_run_that_fails_is_recorded_and_the_others_go_on(done):
    process, folder = done
    assert process.returncode == 1, process.stderr
    (place,) = (folder / "runs").iterdir()
    facts = {path.parent.name: json.loads(path.read_text()) for path in place.glob("*/run.json")}
    assert sorted(facts) == [
        "0_mixer=gru,mixer_model.nodes.decoder.mixer=gru",
        "1_mixer=gru,mixer_model.nodes.decoder.mixer=fourier",
        "2_mixer=attention,mixer_model.nodes.decoder.mixer=gru",
        "3_mixer=attention,mixer_model.nodes.decoder.mixer=fourier",
    ]
    assert [facts[name]["status"] for name in sorted(facts)] == ["finished", "failed", "finished", "failed"]
    for name, known in facts.items():
        if known["status"] == "failed":
            assert "fourier" in known["reason"]
        else:
            assert known["group"] == place.name
            assert len(list((place / name / "wandb").glob("offline-run-*"))) == 1


def test_a_table_of_results_closes_the_sweep(done):
    process, folder = done
    (place,) = (folder / "runs").iterdir()
    rows = json.loads((place / "results.json").read_text())
    assert [row["status"] for row in rows] == ["finished", "failed", "finished", "failed"]
    table = process.stdout[process.stdout.rindex("\nrun ") :].splitlines()
    assert table[1].split()[1:3] == ["loss", "perplexity"]
    losses = [line.split()[1] for line in table[2:4]]
    assert losses == sorted(losses, key=float)  # the best first
    assert all("failed: " in line for line in table[4:6])
    assert table[-1].startswith("sweep     ")
    assert "Traceback" not in process.stderr


def test_several_processes_a_run_do_not_begin_the_sweep_again(tmp_path):
    """A real program: its further processes are begun as it was begun itself."""
    two = ("mixer=gru", "trainer=ddp", "trainer.accelerator=cpu", "trainer.devices=2")
    process = subprocess.run(
        [sys.executable, *command("seed=1,2", *two)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    (place,) = (tmp_path / "runs").iterdir()
    assert sorted(path.parent.name for path in place.glob("*/run.json")) == ["0_seed=1", "1_seed=2"]
    assert all(json.loads(path.read_text())["status"] == "finished" for path in place.glob("*/run.json"))
