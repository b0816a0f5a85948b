"""What the last word of a command line may become: a command, an option, a run folder, or an override."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from composer.cli.options import AddOptions
from composer.config.completion import Completion
from composer.core.problems import UserError

#: Commands that take the folder of a run, or several, and overrides whose value is one.
OF_RUNS = ("generate", "predict", "evaluate", "inspect", "export", "compare")
RUN_KEYS = ("resume=", "init.from=")

#: Options of training, which Hydra parses, beside our own.
OF_TRAINING = ("-m", "--multirun", "--signals", "--config-dir", "--allow-paths", "--cfg", "--help")

#: What the folder of a run or a sweep has.
RECORDS = ("run.json", "sweep.json")


def candidates(line: str, commands: Mapping[str, AddOptions]) -> list[str]:
    """The completions of the last word of a line, which ends where the cursor stands.

    commands: what adds the options of each
    """
    words = line.split(" ")
    *before, word = words
    place = next((n for n, one in enumerate(before) if Path(one).name in ("composer", "train.py")), None)
    if place is None:
        return []
    if Path(before[place]).name == "composer":
        if place == len(before) - 1:
            return [command for command in commands if command.startswith(word)]
        command, given = before[place + 1], before[place + 2 :]
    else:
        command, given = "train", before[place + 1 :]
    if command not in commands:
        return []
    parser = argparse.ArgumentParser()
    commands[command](parser)
    if word.startswith("-"):
        options = OF_TRAINING if command == "train" else _options(parser)
        return [option for option in options if option.startswith(word)]
    first = not any("=" not in one and not one.startswith("-") for one in given)
    if command == "compare" or (command in OF_RUNS and first):
        return _runs(word)
    key, equals, value = word.partition("=")
    if f"{key}{equals}" in RUN_KEYS:
        return [f"{key}={folder}" for folder in _runs(value)]
    if command != "train" and parser.get_default("rest") != "overrides":
        return []
    own = next((after for option, after in pairwise(given) if option == "--config-dir"), None)
    try:
        return Completion(given, own).complete(word)
    except UserError:  # there is no such folder, which the command will say
        return []


def _options(command: argparse.ArgumentParser) -> list[str]:
    words = (word.strip(",[]") for word in command.format_help().split())
    return sorted({word for word in words if word.startswith("--") and len(word) > 2})


def _runs(begun: str) -> list[str]:
    """Folders of runs and sweeps below ``runs`` or where the word leads, and folders on the way to one."""
    head, _, name = begun.rpartition("/")
    place = Path(head or ("/" if begun.startswith("/") else "."))
    if not begun and Path("runs").is_dir():
        head, place = "runs", Path("runs")
    found = []
    for folder in sorted(place.iterdir()) if place.is_dir() else ():
        if folder.is_dir() and folder.name.startswith(name) and (name or not folder.name.startswith(".")):
            path = f"{head}/{folder.name}" if head or begun.startswith("/") else folder.name
            found.append(path if any((folder / record).is_file() for record in RECORDS) else f"{path}/")
    return found
