"""Runs that were written before the code changed are still read: the fixtures stay, and one is added a format."""

import json
import shutil

import pytest
import torch

import composer
from composer.config.composition import compose
from composer.runs import checkpoint
from composer.runs.folder import RunFolder
from composer.training.run.train import train
from tests.support.paths import ROOT
from tests.support.runs import logged
from tests.support.trees import assert_same

FIXTURES = ROOT / "tests" / "fixtures"
RUNS = sorted(FIXTURES.glob("run_of_format_*"))

#: Runs of format 2 with everything that has a state: one that is finished, and one that was stopped after 9 steps.
FINISHED, STOPPED = (FIXTURES / "runs_of_pt_checkpoints" / name for name in ("finished", "stopped"))


def losses(run, which=None):
    """The losses of some validation examples, and those that the fixture expects."""
    expected = json.loads((run / "expected.json").read_text())
    model = composer.load(run, checkpoint=which)
    batch = model.objective.batch("valid", expected["rows"])
    with torch.no_grad():
        outputs, _ = model.graph(model.graph.read(batch.signals))
        (found,) = model.graph.losses(outputs, batch.signals).values()
    return found, torch.tensor(expected["loss"])


@pytest.mark.parametrize("run", [*RUNS, FINISHED], ids=lambda run: run.name)
def test_an_old_checkpoint_computes_what_it_did(run):
    found, expected = losses(run)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("run", [*RUNS, FINISHED], ids=lambda run: run.name)
def test_an_old_run_goes_on(run, tmp_path):
    folder = RunFolder(shutil.copytree(run, tmp_path / "old"))
    outcome = train(compose([f"resume={folder.path}", "training.steps=42"]), brief=True)
    assert outcome.status == "finished"
    assert checkpoint.load(folder.last)["step"] == 42
    assert folder.saved()[0] == folder.last
    assert len(folder.saved()) > 1, "the checkpoint before it is still there"


@pytest.mark.slow
def test_a_run_that_was_stopped_before_format_3_goes_on_to_the_same_bits(tmp_path):
    """As from the same checkpoint in the form of this version, and to the losses that its own version came to."""
    old, new = (RunFolder(shutil.copytree(STOPPED, tmp_path / name)) for name in ("old", "new"))
    checkpoint.save(new.last, checkpoint.load(STOPPED / "checkpoints" / "last.pt"))
    (new.checkpoints / "last.pt").unlink()
    for folder in (old, new):
        train(compose([f"resume={folder.path}"]), quiet=True)
    found, wanted = (checkpoint.load(folder.last) for folder in (old, new))
    assert found["step"] == 16
    for key in ("model", "average", "optimiser", "schedule", "ranks"):
        assert_same(found[key], wanted[key])
    assert logged(old.path) == logged(new.path)
    torch.testing.assert_close(*losses(old.path, "last"), atol=1e-4, rtol=1e-4)


def test_the_newest_format_has_a_fixture():
    assert f"run_of_format_{checkpoint.FORMAT}" in [run.name for run in RUNS]


def test_a_path_that_names_a_checkpoint_as_before_format_3_finds_it():
    run = FIXTURES / "run_of_format_3"
    for name in ("best", "last"):
        named = composer.load(run / "checkpoints" / f"{name}.pt")
        assert named.path == run / "checkpoints" / f"{name}.safetensors"


def test_a_checkpoint_from_the_future_is_refused_in_a_sentence(tmp_path):
    content = checkpoint.load(RUNS[-1] / "checkpoints" / "last.pt")
    torch.save({**content, "format": checkpoint.FORMAT + 1, "version": "9.0"}, tmp_path / "new.pt")
    with pytest.raises(composer.UserError, match=r"format 4, written by version 9\.0.*Use a newer version"):
        composer.load(tmp_path / "new.pt")
