"""train.py as a user runs it: a real process, a few steps."""

import subprocess
import sys

import pytest

from tests.support import processes
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

SMALL = [
    "data.locales=[en]",
    "data.train_size=200",
    "data.valid_size=20",
    "training.steps=3",
    "training.batch=8",
    "training.figures=false",
]


def train(*overrides, cwd):
    return processes.program([ROOT / "train.py", *overrides], cwd)


def test_it_trains_and_shows_what_it_has_learned(tmp_path):
    command = [sys.executable, str(ROOT / "train.py"), *SMALL, "mixer=gru", "model.dim=16"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "2 x gru +" in done.stdout
    assert "exact" in done.stdout
    assert "->" in done.stdout


def test_a_language_model_trains_on_generated_data(tmp_path):
    done = train(
        "model=language_model",
        "data=copy",
        "model.dim=16",
        "training.steps=3",
        "training.decode_rows=8",
        "training.validate_rows=8",
        "training.figures=false",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "loss" in done.stdout


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("mixer=lstn", "Did you mean 'lstm'?"),  # found by Hydra
        ("training.steps=0", "training.steps   command line: training.steps=0"),  # by the job
    ],
)
def test_bad_input_is_one_clear_message_and_exit_code_2(tmp_path, override, words):
    done = train(override, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
