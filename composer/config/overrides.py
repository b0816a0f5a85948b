"""Checks of the words of a command line, and of the overrides that files of a study or a sweep hold.

Hydra's own config names functions to call, so an override may set only a few of its keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal

from omegaconf import OmegaConf

from composer.config.yaml_files import CALLING, INTO_HYDRA, LONGEST_NUMBER, PLAIN, folder_of_user
from composer.core.problems import UserError, suggest

#: The groups and keys of Hydra's own config that an override may set; * stands for any key.
ALLOWED = (
    "hydra/launcher", "hydra/sweeper", "hydra.launcher.*", "hydra.sweeper.*", "hydra.sweep.dir", "hydra.sweep.subdir",
    "hydra.verbose",
)  # fmt: skip
ALLOWED_KEY = re.compile("|".join(re.escape(key).replace(r"\*", r"[\w.]+") for key in ALLOWED))

OF_HYDRA = f" (of hydra: {', '.join(ALLOWED)})"

#: Mappings whose keys are names of nodes, sources or callbacks, so that no file can list them, and those of a study,
#: whose file lists only the keys that it sets. Hydra needs ++ to add a key to a mapping.
BY_NAME = (
    "optimiser.groups.", "init.nodes.", "init.unfreeze_after.", "data.sources.", "data.weights.", "data.each.",
    "study.budget.", "study.tuning.", "callbacks.",
)  # fmt: skip

#: Keys of earlier versions that overrides may still have, and their names now.
RENAMED = {"training.judge=": "training.monitor="}

#: What Lightning adds to the command line where it starts the other processes of a run.
OF_LIGHTNING = re.compile(r"""hydra\.run\.dir=["']?\.["']?|hydra\.job\.name=\w+|hydra\.output_subdir=null""")

#: Keys of Hydra that make it call something: a part of an override's key, or a key of the mapping that is its value.
CALLS = re.compile(rf"(?:^|[\s.{{,+'\"])({'|'.join(CALLING)})['\"]?\s*(?:[.:=]|$)")

#: What a command line starts: a command of ``python -m composer``, a run, a sweep by our sweeper or by another one.
Mode = Literal["command", "run", "sweep", "other sweeper"]

SWEEPS: tuple[Mode, ...] = ("sweep", "other sweeper")

#: Keys that have an effect in some modes only, those modes, and what to do instead in the others.
EFFECTS: tuple[tuple[str, tuple[Mode, ...], str], ...] = (
    (r"hydra/(launcher|sweeper)|hydra\.launcher\..*", SWEEPS, "launchers and sweepers are those of a sweep (-m)."),
    (r"hydra\.verbose", ("run", *SWEEPS), "only train.py writes a log."),
    (r"hydra\.sweep\.dir", SWEEPS, "it is the folder of a sweep (-m)."),
    (
        r"hydra\.sweep\.subdir|hydra\.sweeper\..*", ("other sweeper",),
        "it is a setting of other sweepers, such as hydra/sweeper=basic. Here trials have the names of their values.",
    ),
    (
        r"name|resume", ("command", "run", "sweep"),
        "a sweep by another sweeper than hydra/sweeper=durable cannot go on, and hydra.sweep.dir=... is its folder.",
    ),
    (r"(search|study)(\..*)?", ("command", "run", "sweep"), "it needs hydra/sweeper=durable, which is the default."),
    (r"group", ("command", "run"), "the group of a sweep's runs is the name of the sweep: name=..."),
)  # fmt: skip

HINTS = {
    "hydra.searchpath": "The folder of your own configs is --config-dir=...",
    "hydra.run": "A run makes its folder itself: runs=... is the folder of all runs, name=... that of this run.",
    "hydra.job.": "A run makes its folder itself: runs=... is the folder of all runs, name=... that of this run.",
}


def check_overrides(words: Iterable[str]) -> None:
    """Raise a UserError for an override that could call a function, or that no parser can take."""
    for word in words:
        key = word.lstrip("+~").partition("=")[0].strip()
        shown = word if len(word) <= 100 else f"{word[:97]}..."
        if (call := CALLS.search(word)) is not None:
            raise UserError(f"command line: {shown}\n  '{call[1]}' makes Hydra call a function. {PLAIN}")
        if INTO_HYDRA.search(key) and not ALLOWED_KEY.fullmatch(key) and not OF_LIGHTNING.fullmatch(word):
            hint = next((hint for start, hint in HINTS.items() if key.startswith(start)), "")
            raise UserError(f"command line: {shown}\n  '{key}' cannot be set here. {hint or OF_HYDRA}")
        if re.search(rf"\d{{{LONGEST_NUMBER},}}", word):
            raise UserError(f"command line: {shown}\n  has a number of more than {LONGEST_NUMBER} digits.")
        if "\0" in word or nesting(word) > 50:
            raise UserError(f"command line: {shown}\n  is nested more than 50 levels deep. Make it flatter.")


def check_effects(words: Iterable[str], mode: Mode) -> None:
    """Raise a UserError for an override that has no effect in this mode."""
    keys = {word.lstrip("+~").partition("=")[0].strip(): word for word in words}
    for key, word in keys.items():
        for pattern, modes, instead in EFFECTS:
            if mode not in modes and re.fullmatch(pattern, key):
                raise UserError(f"command line: {word}\n  has no effect here: {instead}")
    for key in ("runs", "name") if "hydra.sweep.dir" in keys else ():
        if key in keys:
            raise UserError(f"command line: {keys[key]}\n  has no effect here: hydra.sweep.dir is the sweep's folder.")


def mode_of(words: Sequence[str]) -> Mode:
    """What a command line of train.py starts."""
    if not {"-m", "--multirun"}.intersection(words):
        return "run"
    sweepers = [word.partition("=")[2] for word in words if word.lstrip("+").startswith("hydra/sweeper=")]
    return "sweep" if sweepers[-1:] in ([], ["durable"]) else "other sweeper"


def with_new_keys(overrides: Sequence[str]) -> list[str]:
    """The overrides with ++ before those that set a key of a mapping ``BY_NAME``, so that a user need not write it.

    A key that was renamed gets its new name.
    """
    for old, new in RENAMED.items():
        overrides = [override.replace(old, new, 1) if override.startswith(old) else override for override in overrides]
    return [f"++{override}" if override.startswith(BY_NAME) else override for override in overrides]


def without_new_key(override: str) -> str:
    """An override of a mapping ``BY_NAME`` as the user wrote it."""
    return override.removeprefix("++") if override.startswith(tuple(f"++{key}" for key in BY_NAME)) else override


def config_dir(options: Sequence[str]) -> Path | None:
    """The user's folder of configs: that of --config-dir, if the options of train.py have this one, or ./conf.

    An option that could run code is refused, and so is an abbreviation of --config-dir, which argparse would complete.
    """
    given = None
    for word, following in zip(options, [*options[1:], ""], strict=False):
        option, equals, value = word.partition("=")
        if option.startswith("--e"):  # --experimental-rerun
            raise UserError(f"command line: {word}\n  is refused: it reads a pickled file, which could run code.")
        if option in ("--config-dir", "-cd"):
            given = value if equals else following
        elif option.startswith("--config-d"):
            raise UserError(f"command line: {word}\n  is no option.{suggest(option, '--config-dir')}")
    return folder_of_user(given)


def as_typed(overrides: Sequence[str]) -> list[str]:
    """The overrides that Hydra's config lists, with interpolations as they were typed: they may read secrets."""
    found: Any = OmegaConf.to_container(overrides, resolve=False) if OmegaConf.is_config(overrides) else overrides
    return list(found)


def nesting(word: str) -> int:
    """The depth of the brackets of an override."""
    changes = ((letter in "[{(") - (letter in "]})") for letter in word)
    return max(accumulate(changes, initial=0))


#: The option by which files of configs may name paths anywhere, and the override that it stands for.
ALLOW_PATHS = ("--allow-paths", "allow_paths=true")

#: Hydra's own options that take a value, after an equals sign or as the next word.
OPTIONS = ("config-path", "config-name", "config-dir", "cfg", "package", "info", "experimental-rerun")
SHORT = ("-cp", "-cn", "-cd", "-c", "-p", "-i")


def without_hyphens(words: Sequence[str]) -> list[str]:
    """The words of a command line, with overrides that are written as options: --allow-paths, and --key=value, as W&B's
    agent writes them."""
    option = re.compile(rf"--(?!(?:{'|'.join(OPTIONS)})=)[^=]+=")
    return [ALLOW_PATHS[1] if word == ALLOW_PATHS[0] else word[2:] if option.match(word) else word for word in words]


def split_options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options of Hydra with their values, and the overrides: between options, argparse takes no overrides."""
    options: list[str] = []
    overrides: list[str] = []
    left = with_new_keys(without_hyphens(words))
    while left:
        word = left.pop(0)
        (options if word.startswith("-") else overrides).append(word)
        takes = word in SHORT or word.removeprefix("--") in OPTIONS
        if takes and left and (word not in ("-i", "--info") or "=" not in left[0]):
            options.append(left.pop(0))
    return options, overrides
