"""Runs that were written before the code changed are still read: the fixtures stay, and one is added a format."""

import json
import shutil

import pytest
import torch

import composer
from composer.config.composition import compose
from composer.runs import checkpoint
from composer.training.run.train import train
from tests.support.paths import ROOT

RUNS = sorted((ROOT / "tests" / "fixtures").glob("run_of_format_*"))


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_an_old_checkpoint_computes_what_it_did(run):
    expected = json.loads((run / "expected.json").read_text())
    model = composer.load(run)
    batch = model.objective.batch("valid", expected["rows"])
    with torch.no_grad():
        outputs, _ = model.graph(model.graph.read(batch.signals))
        (losses,) = model.graph.losses(outputs, batch.signals).values()
    torch.testing.assert_close(losses, torch.tensor(expected["loss"]), atol=1e-4, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_an_old_run_goes_on(run, tmp_path):
    folder = tmp_path / "old"
    shutil.copytree(run, folder)
    outcome = train(compose([f"resume={folder}", "training.steps=42"]), brief=True)
    assert outcome.status == "finished"
    assert checkpoint.load(folder / "checkpoints" / "last.pt")["step"] == 42


def test_the_newest_format_has_a_fixture():
    assert f"run_of_format_{checkpoint.FORMAT}" in [run.name for run in RUNS]


def test_a_checkpoint_from_the_future_is_refused_in_a_sentence(tmp_path):
    content = checkpoint.load(RUNS[-1] / "checkpoints" / "last.pt")
    torch.save({**content, "format": checkpoint.FORMAT + 1, "version": "9.0"}, tmp_path / "new.pt")
    with pytest.raises(composer.UserError, match=r"format 3, written by version 9\.0.*Use a newer version"):
        composer.load(tmp_path / "new.pt")
