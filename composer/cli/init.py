"""The command init: a folder to begin with, made of the files in ``project/``."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
from pathlib import Path

from composer.cli.options import json_option, output_files
from composer.cli.schema.command import FILE
from composer.core.problems import UserError
from composer.core.program import training_command
from composer.core.storage.example_files import EXAMPLES

PROJECT = Path(__file__).parent / "project"

#: The example file that becomes the project's data.
DATA = "commands.tsv"

#: The block of the project, which its schema knows.
PLUGIN = "plugins/moving_average.py"

NEXT = """
next      cd {folder}
          python -m composer describe experiment=commands
          python train.py experiment=commands"""


def init_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", type=Path, help="the folder to make, such as my_project")
    json_option(command)


def run_init(options: argparse.Namespace) -> None:
    """Make a folder to begin with: a model, an experiment, a study, a block of your own with its test, data.

    examples:
      composer init my_project
    """
    folder: Path = options.folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"'{folder}' is there already, and not empty. Name a new folder.")
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "data").mkdir()
    shutil.copyfile(EXAMPLES / DATA, folder / "data" / DATA)
    readme = folder / "README.md"
    name = re.sub(r"[^\w .-]", "", folder.resolve().name)
    readme.write_text(readme.read_text(encoding="utf-8").replace("my_project", name, 1), encoding="utf-8")
    (*program, _), environment = training_command()  # another process: the plugin stays out of this one
    words = [*program, "schema", "--plugin", PLUGIN, "-o", FILE]
    subprocess.run(words, cwd=folder, env=os.environ | environment, check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(folder / "plugins" / "__pycache__", ignore_errors=True)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    output_files(options, "\n".join([*map(str, files), NEXT.format(folder=folder)]), files)
