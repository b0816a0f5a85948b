"""Checkpoints that are none, and runs that are not whole, are refused and run no code."""

import pickle
import random
import shutil

import pytest
import torch

from composer.core.problems import UserError
from composer.inference.find_checkpoint import find_checkpoint
from composer.runs import checkpoint


@pytest.mark.parametrize("command", ["generate", "predict", "evaluate", "inspect"])
def test_a_checkpoint_that_would_run_code_is_refused_and_runs_none(refused, tmp_path, command):
    class Payload:
        def __reduce__(self):
            import os

            return os.system, (f"touch {tmp_path / 'owned'}",)

    torch.save({"format": 1, "config": Payload(), "source": {}, "step": 1, "model": {}}, tmp_path / "zip.pt")
    (tmp_path / "bare.pt").write_bytes(pickle.dumps(Payload()))
    for name in ("zip.pt", "bare.pt"):
        extra = ["x"] if command == "generate" else []
        said = refused(command, tmp_path / name, *extra)
        assert f"{name}' is refused" in said or f"{name}' is not a whole checkpoint" in said
        assert not (tmp_path / "owned").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bare.pt", "zip.pt"]


def test_a_run_that_is_not_there_or_not_whole_is_one_clear_sentence(runs, refused, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(runs("copy"), folder)
    whole = (folder / "checkpoints" / "best.safetensors").read_bytes()
    (tmp_path / "torn.pt").write_bytes(whole[: len(whole) // 2])
    assert "torn.pt' is not a whole checkpoint" in refused("generate", tmp_path / "torn.pt", "1")
    assert "Did you mean 'run'?" in refused("generate", tmp_path / "rum", "1")
    assert "is not the folder of a run" in refused("generate", tmp_path, "1")
    (folder / "checkpoints" / "best.safetensors").unlink()
    (folder / "checkpoints" / "last.safetensors").unlink()
    assert "there is no checkpoint in" in refused("generate", folder, "1")
    assert "has no effect" in refused("generate", tmp_path / "torn.pt", "1", "--checkpoint", "best")


def test_a_checkpoint_cannot_choose_code_to_import(runs, refused, tmp_path):
    content = checkpoint.load(find_checkpoint(runs("copy")))
    content["config"] = {**content["config"], "plugins": [str(tmp_path / "evil.py")]}
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w')")
    checkpoint.save(tmp_path / "plugged.pt", content)
    assert "--plugin" in refused("generate", tmp_path / "plugged.pt", "1")
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("command", ["generate", "predict", "evaluate", "inspect"])
def test_help_shows_examples(ask, command):
    code, out, _ = ask(command, "--help")
    assert code == 0
    assert f"composer {command} runs/" in out
    assert all(len(line) <= 120 for line in out.splitlines())


def test_whatever_bytes_a_file_has_it_is_read_or_refused_in_a_sentence(tmp_path):
    """Files cut short, files with changed bytes, and files of random bytes."""
    draw, path = random.Random(0), tmp_path / "checkpoint.pt"
    checkpoint.save(path, {"config": {"a": 1}, "source": {}, "step": 1, "model": {"w": torch.randn(3, 4)}})
    whole, plain = path.read_bytes(), pickle.dumps({"format": 2, "config": {}, "x": [1, 2.0, "a"]}, protocol=2)

    def changed(content):
        places = {draw.randrange(len(content)): draw.randrange(256) for _ in range(draw.randrange(1, 6))}
        return bytes(places.get(i, byte) for i, byte in enumerate(content))

    refused = 0
    for _ in range(100):
        cut = whole[: draw.randrange(len(whole))]
        for content in (cut, changed(whole), changed(plain), draw.randbytes(draw.randrange(200))):
            path.write_bytes(content)
            try:
                checkpoint.load(path)
            except UserError:
                refused += 1
    assert refused > 250
