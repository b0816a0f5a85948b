"""The commands that a run ends with work when they are pasted."""

import re
import shlex

import pytest

from composer.cli.main import main
from composer.config.composition import compose
from composer.training.run import train as job

FEW = ["training.steps=1", "training.batch=4", "training.figures=false", "training.samples=2", "model.dim=8",
       "mixer=gru", "ffn=none", "data.train_size=20", "data.valid_size=4", "logger=none"]  # fmt: skip
SECOND = "+model.nodes.second={kind: head, type: categorical, from: decoder, predicts: target}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (["data=copy", "data.length=4", "cross.heads=2", SECOND], "generate run '?[0-9 ]+'? --head output"),
        (["experiment=captioner"], "predict run --split valid"),
    ],
)
def test_what_a_run_says_to_use_next_can_be_pasted(overrides, expected, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    job.train(compose([*overrides, *FEW, "runs=.", "name=run"]))
    lines = capsys.readouterr().out.splitlines()
    (command,) = (line.strip() for line in lines if re.search("composer (generate|predict) ", line))
    words = shlex.split(command)
    assert re.search(expected, command)
    assert main(words[words.index("composer") + 1 :]) == 0
