"""What docs/using.md shows is what happens. Run this file to write the page's output anew."""

import contextlib
import doctest
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
import torch

from composer.cli.main import main
from composer.config.composition import compose
from composer.training.run.train import train
from tests.support.paths import ROOT
from tests.support.shown_output import assert_shows

PAGE = ROOT / "docs" / "using.md"
CONSOLE = re.compile(r"```console\n((?:.*\n)*?)```\n")
COMMAND = re.compile(r"^\$ python -m composer (.*)\n((?:(?!\$ ).*\n)*)", re.M)


def prepare(text):
    """The files of the page, and its runs, here."""
    for name, content in re.findall(r"```tsv (\S+)\n(.*?)```", text, re.S):
        Path(name).write_text(content)
    for line in re.findall(r"^python train.py (.*)$", text, re.M):
        train(compose([*shlex.split(line), "training.figures=false", "logger=none"]))


def prepared(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        prepare(PAGE.read_text())


def output(command):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), contextlib.suppress(SystemExit):
        main(shlex.split(command))
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


@pytest.fixture(scope="module", autouse=True)
def here(shared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(shared.folder("using.md", prepared), folder, dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield


COMMANDS = [match for block in CONSOLE.findall(PAGE.read_text()) for match in COMMAND.findall(block)]


@pytest.mark.parametrize(("command", "shown"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_the_output_shown_is_real(command, shown):
    assert_shows(shown, output(command))


def test_the_programs_shown_run_and_say_what_is_shown():
    parsed = doctest.DocTestParser().get_doctest(programs(PAGE.read_text()), {}, "using.md", str(PAGE), 0)
    assert len(parsed.examples) > 15
    said = io.StringIO()
    assert doctest.DocTestRunner().run(parsed, out=said.write).failed == 0, said.getvalue()


def programs(text):
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.S))


def written(text):
    def block(match):
        commands = COMMAND.findall(match[1])
        return "```console\n" + "".join(f"$ python -m composer {c}\n{output(c)}" for c, _ in commands) + "```\n"

    return CONSOLE.sub(block, text)


if __name__ == "__main__":
    torch.set_num_threads(1)
    os.chdir(tempfile.mkdtemp())
    prepare(PAGE.read_text())
    PAGE.write_text(written(PAGE.read_text()))
    sys.exit()
