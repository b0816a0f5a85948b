"""A run on a file of the package: another machine, which has no file of the user's own, can do everything with it."""

import json

import pytest
import yaml

from composer.config.composition import compose
from composer.training.run.train import train
from tests.support.experiments import QUICK
from tests.support.trained import lines

pytestmark = pytest.mark.slow


@pytest.fixture
def run(shared):
    return shared.run(lambda chosen: train(compose(chosen)), ["experiment=intents", "model.dim=16", *QUICK], "intents")


@pytest.fixture
def elsewhere(run, shared, tmp_path, monkeypatch):
    """A copy of the run in the hands of somebody who has not trained it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "somebody"))
    return shared.copy(run, tmp_path)


def test_the_run_records_the_path_as_it_was_typed(run):
    assert yaml.safe_load((run / "config.yaml").read_text())["data"]["path"] == "example:intents.tsv"


def test_every_command_reads_the_example_elsewhere(elsewhere, ask, tmp_path):
    code, out, err = ask("evaluate", elsewhere, "--split", "test", "--json")
    assert code == 0, err
    assert json.loads(out)["metrics"]
    code, out, err = ask("predict", elsewhere, "--split", "valid", "--rows", "2")
    assert (code, len(lines(out))) == (0, 2), err
    code, out, err = ask("predict", elsewhere, "data.path=example:intents.tsv", "--rows", "1")
    assert (code, lines(out)[0]["line"]) == (0, 2), err
    assert ask("inspect", elsewhere, "-o", tmp_path / "page")[0] == 0
    assert (tmp_path / "page" / "inspect.html").is_file()
    assert ask("export", elsewhere, "--format", "torch", "-o", tmp_path / "export")[0] == 0


def test_the_run_is_resumed_elsewhere(elsewhere):
    train(compose([f"resume={elsewhere}", "training.steps=3"]))
    assert json.loads((elsewhere / "run.json").read_text())["last_step"] == 3


def test_a_foreign_config_names_no_other_file_by_an_example(elsewhere, refused):
    said = refused("evaluate", elsewhere, "data.path=example:../files.py")
    assert "no example file '../files.py'" in said
