"""This program: where the files lie that come with it, how it was started, and how to start its training once more.

Messages and help are written for a checkout, with ``python train.py`` and ``python -m composer``; where they are shown,
``as_started`` puts the program into them that the user has.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def shipped(name: str) -> Path:
    """The folder ``blocks`` or ``conf``: at the top of a checkout, or inside of an installed package."""
    inside = PACKAGE / name
    return inside if inside.is_dir() else PACKAGE.parent / name


#: Our own configs.
CONF = shipped("conf")

#: How messages name the two programs.
TRAIN, COMMANDS = "python train.py", "python -m composer"


@cache
def programs() -> tuple[str, str]:
    """How the user starts a training, and a command."""
    main = getattr(sys.modules["__main__"], "__spec__", None)
    if Path(sys.argv[0]).name == "train.py":
        return TRAIN, COMMANDS
    if main is not None and main.name.startswith("composer."):
        return f"{COMMANDS} train", COMMANDS
    if Path(sys.argv[0]).stem == "composer" or not (PACKAGE.parent / "train.py").is_file():
        return "composer train", "composer"
    return TRAIN, COMMANDS


def as_started(text: str) -> str:
    """A message or a help text with the programs that the user has started."""
    train, commands = programs()
    return text.replace(COMMANDS, commands).replace(TRAIN, train)


def training_command() -> tuple[list[str], dict[str, str]]:
    """The beginning of a command line that trains, whoever has started this process, and its environment.

    Modules are looked for where this process looks for them, and not in the working folder.
    """
    environment = {"PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), *filter(None, sys.path)])}
    return [sys.executable, "-P", "-m", "composer", "train"], environment
