"""What docs/comparing.md shows is what happens. Run this file to write the page's output anew."""

import contextlib
import io
import itertools
import os
import re
import shlex
import sys
import tempfile

import pytest
import torch

from composer.cli.main import main
from composer.config.composition import compose
from composer.training.run.train import train
from tests.support.paths import ROOT
from tests.support.shown_output import assert_shows

PAGE = ROOT / "docs" / "comparing.md"
CONSOLE = re.compile(r"```console\n\$ python -m composer (.*)\n((?:.*\n)*?)```\n")
WIDTH = "120"


def prepare(text):
    """The runs of the page's sweep, here, without the sweep's own program."""
    ((name, line),) = re.findall(r"^python train.py -m name=(\S+) (.*)$", text, re.M)
    choices = [
        [f"{key}={value}" for value in values.split(",")]
        for key, _, values in (word.partition("=") for word in shlex.split(line))
    ]
    for number, overrides in enumerate(itertools.product(*choices)):
        train(compose([*overrides, f"runs=runs/{name}", f"name={number}", "training.figures=false", "logger=none"]))


def prepared(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        prepare(PAGE.read_text())


def output(command):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        main(shlex.split(command))
    return printed.getvalue()


@pytest.fixture(autouse=True)
def here(shared, monkeypatch):
    monkeypatch.chdir(shared.folder("comparing.md", prepared))
    monkeypatch.setenv("COLUMNS", WIDTH)


def test_the_output_shown_is_real():
    ((command, shown),) = CONSOLE.findall(PAGE.read_text())
    assert_shows(shown, output(command))


def test_the_program_shown_runs(capsys):
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    exec(program, {})
    sentence, *arms = capsys.readouterr().out.splitlines()
    assert sentence.startswith("mixer=rnn has the lowest test loss")
    assert [line.split()[0] for line in arms] == ["mixer=rnn", "mixer=identity"]


if __name__ == "__main__":
    torch.set_num_threads(1)
    os.environ["COLUMNS"] = WIDTH
    os.chdir(tempfile.mkdtemp())
    text = PAGE.read_text()
    prepare(text)
    command = CONSOLE.findall(text)[0][0]
    written = f"```console\n$ python -m composer {command}\n{output(command)}```\n"
    PAGE.write_text(CONSOLE.sub(lambda match: written, text))
    sys.exit()
