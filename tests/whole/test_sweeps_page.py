"""What docs/sweeps.md shows is what happens, and its commands are sound. Run this file to write its output anew."""

import re
import shlex
import sys
import tempfile
from pathlib import Path

import pytest
import yaml
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra

from composer.studies.sweep.search.search_settings import split_arguments
from tests.support import processes
from tests.support.paths import ROOT
from tests.support.shown_output import assert_shows
from tests.support.sweeps import program

PAGE = ROOT / "docs" / "sweeps.md"
CONSOLE = re.compile(r"```console\n\$ python (.*)\n((?:.*\n)*?)```\n")
SHELL = re.compile(r"```sh\n(.*?)```", re.S)
SHOWN = dict(CONSOLE.findall(PAGE.read_text()))

pytestmark = pytest.mark.slow


def output(command, folder):
    script, *words = shlex.split(command)
    if script == "train.py":
        done = processes.run(program, folder, words, environment={"COLUMNS": "110"})
    else:
        done = processes.program([script, *words], folder)
    assert done.code == 0 if script == "train.py" else done.returncode == 0, done
    return done.out if script == "train.py" else done.stdout


@pytest.mark.parametrize("command", SHOWN, ids=lambda command: command[:40])
def test_the_output_shown_is_real(command, tmp_path):
    assert_shows(SHOWN[command], output(command, tmp_path))


def commands():
    for block in SHELL.findall(PAGE.read_text()):
        for line in block.splitlines():
            if line.startswith("python train.py -m") and "resume=" not in line:
                yield shlex.split(line, comments=True)[3:]


@pytest.mark.parametrize("arguments", list(commands()), ids=lambda arguments: arguments[-1][:40])
def test_a_documented_command_is_understood(arguments):
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        fixed, ranges = split_arguments(arguments, None)
        assert ranges
        compose("train", fixed, return_hydra_config=True)


def test_the_space_shown_is_a_search(tmp_path):
    text = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.S)[1]
    (tmp_path / "search").mkdir()
    (tmp_path / "search" / "mine.yaml").write_text(text)
    command = ["-m", "composer", "wandb-sweep", "search=mine", "--config-dir", str(tmp_path)]
    sweep = yaml.safe_load(processes.program(command, tmp_path).stdout)
    assert sweep["run_cap"] == 40
    assert list(sweep["parameters"]) == ["optimiser.learning_rate", "model.nodes.encoder.depth"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        text = CONSOLE.sub(
            lambda match: f"```console\n$ python {match[1]}\n{output(match[1], Path(folder))}```\n", PAGE.read_text()
        )
    PAGE.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
